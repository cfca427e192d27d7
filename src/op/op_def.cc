#include "op/op_def.h"

#include <iterator>

namespace headrace {

OpDef moved(OpDef&& op) { return std::move(op); }

const char* OpDef::shown_name() const noexcept {
  if (!name.starts_with('_') || python.empty()) return name.c_str();
  const std::string& path = python.front();
  return path.c_str() + (path.rfind('.') + 1);
}

Operators::Operators(Operators&&) noexcept = default;
Operators& Operators::operator=(Operators&&) noexcept = default;
Operators::~Operators() = default;

void Operators::push_back(OpDef&& op) { all_.push_back(std::move(op)); }

void Operators::append(Operators&& others) {
  all_.insert(all_.end(), std::move_iterator(others.begin()), std::move_iterator(others.end()));
}

}  // namespace headrace
