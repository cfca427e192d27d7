// Several parameters change together, or none of them.
#pragma once

#include <utility>
#include <vector>

#include "headrace/gluon/parameter.hpp"

namespace headrace::gluon {

// Unless keep() is called, the parameters get back at the end what they held at the beginning: which arrays, on which
// devices. What was written into the arrays stays.
class Rollback {
 public:
  explicit Rollback(std::vector<Parameter*> parameters) : parameters_(std::move(parameters)) {
    for (const Parameter* parameter : parameters_) before_.push_back(*parameter);
  }
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    for (size_t i = 0; i < before_.size(); ++i) *parameters_[i] = std::move(before_[i]);
  }
  void keep() noexcept { before_.clear(); }

 private:
  std::vector<Parameter*> parameters_;
  std::vector<Parameter> before_;
};

}  // namespace headrace::gluon
