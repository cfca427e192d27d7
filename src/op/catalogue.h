// The catalogue: every operator, by registered name. Built once, in ops/catalogue.cc, from one line per family;
// read-only afterwards, so any thread may use it.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op/op_def.h"

namespace headrace {

class Catalogue {
 public:
  // Adds operators; raises on a name that is taken. References to operators stay valid for the life of the process.
  void add(Operators family);
  // Null when there is no such operator.
  const OpDef* find(std::string_view name) const;
  const std::deque<OpDef>& all() const noexcept { return operators_; }

 private:
  std::deque<OpDef> operators_;
  std::unordered_map<std::string_view, const OpDef*> by_name_;
};

const Catalogue& catalogue();

// The operator of that name, which must exist (a programmer's slip otherwise: raises KeyError).
const OpDef& find_op(std::string_view name);

// Fills the catalogue; defined in ops/catalogue.cc, the one file that knows all families.
void add_all_families(Catalogue& catalogue);

}  // namespace headrace
