#include "kvstore/reduction.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/runtime.h"
#include "op/invoke.h"

namespace headrace::kvstore {

namespace {

constexpr NamedReduction kNamed[] = {
    {"sum", "elemwise_add"},
    {"mean", "elemwise_add", true},
    {"max", "_maximum"},
    {"min", "_minimum"},
};

// By row of kNamed and number of inputs.
struct Formulas {
  std::array<std::array<Pointwise, kMostAtOnce + 1>, std::size(kNamed)> of;

  Formulas() {
    for (size_t row = 0; row < std::size(kNamed); ++row) {
      const Expr pair = find_op(kNamed[row].operation).pointwise->formula.outputs[0];
      Expr folded = input(0);
      for (int count = 1; count <= static_cast<int>(kMostAtOnce); ++count) {
        of[row][static_cast<size_t>(count)].formula = {count, 0, {folded}};
        const Expr operands[] = {folded, input(count)};
        folded = substitute(pair, operands, {});
      }
    }
  }
};

const NamedReduction& find(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedReduction& row : kNamed) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  fail(ErrorKind::kValue, "kvstore: there is no reduction '{}'; known are {}, or give a function of two arrays", name,
       fmt::join(names, ", "));
}

}  // namespace

Reduction::Reduction(std::string_view name) : named_(&find(name)) {}

std::string_view Reduction::name() const noexcept { return named_ ? named_->name : "custom"; }
bool Reduction::divides() const noexcept { return named_ && named_->divides; }
bool Reduction::is_linear() const noexcept { return named_ && (named_->name == "sum" || named_->divides); }

Reduction Reduction::undivided() const {
  if (!divides()) return *this;
  const auto found = std::ranges::find_if(kNamed, [this](const NamedReduction& row) {
    return std::string_view(row.operation) == named_->operation && !row.divides;
  });
  return Reduction(found->name);
}

void Reduction::check_dtype(DType dtype) const {
  check(!divides() || is_floating(dtype), ErrorKind::kType,
        "kvstore: the reduction 'mean' needs arrays of floats, got {}; use 'sum' and divide, or cast them",
        dtype_name(dtype));
}

void Reduction::combine_into(const NDArray& target, const NDArray& source) const {
  if (!named_) {
    const NDArray result = combine_(target, source);
    check(result && result.shape() == target.shape() && result.dtype() == target.dtype(), ErrorKind::kValue,
          "kvstore: the function of a reduction was given arrays of shape {} of {} and must give such an array, got {}",
          to_string(target.shape()), dtype_name(target.dtype()),
          result ? fmt::format("shape {} of {}", to_string(result.shape()), dtype_name(result.dtype())) : "none");
    copy_into(target, result);
    return;
  }
  const OpDef& operation = *operation_of(*this);
  const NDArray inputs[] = {target, source};
  NDArray output = target;
  invoke(operation, operation.default_attrs, inputs, {&output, 1});
}

void Reduction::finish(const NDArray& target, size_t count) const {
  if (!divides() || count == 1) return;
  static const OpDef& divide = find_op("_div_scalar");
  NDArray output = target;
  invoke(divide, attrs_of(divide, {{"scalar", static_cast<double>(count)}}), {&target, 1}, {&output, 1});
}

const OpDef* operation_of(const Reduction& reduction) {
  return reduction.named() ? &find_op(reduction.named()->operation) : nullptr;
}

const Pointwise* formula_of(const Reduction& reduction, size_t count) {
  if (!reduction.named()) return nullptr;
  return &service<Formulas>().of[static_cast<size_t>(reduction.named() - kNamed)][count];
}

}  // namespace headrace::kvstore
