#include "op/catalogue.h"

#include <algorithm>

#include "base/check.h"

namespace headrace {
namespace {

// An operator's functions take the attributes that it has.
void check_functions(const OpDef& op) {
  const auto fits = [&](const auto&... functions) {
    return (... && (!functions.schema() || functions.schema() == op.schema));
  };
  check(fits(op.output_count, op.counted_outputs, op.input_name, op.input_count, op.complete, op.infer, op.kernel,
             op.as_view, op.compose, op.spelling, op.gradient, op.open.output_name, op.open.is_state),
        ErrorKind::kType, "catalogue: a function of operator '{}' takes other attributes than the operator has",
        op.name);
  const auto is_dense = [](StorageKind kind) { return kind == StorageKind::kDense; };
  for (const StorageForm& form : op.storage_forms) {
    check(op.makes_sparse || !std::ranges::all_of(form.inputs, is_dense), ErrorKind::kType,
          "catalogue: operator '{}' has a storage form for dense inputs alone, but does not say makes_sparse", op.name);
    check(fits(form.kernel, form.when) && form.kernel, ErrorKind::kType,
          "catalogue: a storage form of operator '{}' has no kernel, or one for other attributes", op.name);
    check(op.infer || op.pointwise, ErrorKind::kType,
          "catalogue: operator '{}' has storage forms but no rule for "
          "shapes",
          op.name);
  }
}

}  // namespace

void Catalogue::add(Operators family) {
  for (OpDef& op : family) {
    operators_.push_back(std::move(op));
    const OpDef& stored = operators_.back();
    check_functions(stored);
    auto enter = [&](const std::string& name) {
      check(by_name_.emplace(name, &stored).second, ErrorKind::kKey, "catalogue: operator name '{}' is taken twice",
            name);
    };
    enter(stored.name);
    for (const std::string& alias : stored.aliases) enter(alias);
  }
}

const OpDef* Catalogue::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Catalogue& catalogue() {
  static const Catalogue* instance = [] {
    auto* made = new Catalogue;  // leaked: operators outlive every static object
    add_all_families(*made);
    return made;
  }();
  return *instance;
}

const OpDef& find_op(std::string_view name) {
  const OpDef* op = catalogue().find(name);
  check(op != nullptr, ErrorKind::kKey, "there is no operator named '{}'", name);
  return *op;
}

}  // namespace headrace
