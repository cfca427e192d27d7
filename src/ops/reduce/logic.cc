// all, any and count_nonzero.
#include <fmt/format.h>

#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

std::shared_ptr<const Reduction> of_truth(Combine combine) {
  return std::make_shared<const Reduction>(combine, [](Expr x) { return x != 0.0; });
}

// Of the truth of each element; without elements `empty`.
OpDef quantifier(const char* name, std::vector<std::string> aliases, const char* python, Combine combine,
                 const char* doc) {
  auto reduction = of_truth(combine);
  OpDef parts{.name = name,
              .aliases = std::move(aliases),
              .python = {fmt::format("np.{}", python), fmt::format("ndarray.{}", python)},
              .doc = doc,
              .inputs = {"data"},
              .np_inputs = {"a"},
              .zero_gradient = true,
              .saves_inputs = kNothing,
              .samples = {integers({2, 3}, 0, 2)}};
  complete_reduction<NumpyReduceAttrs>(parts);
  parts.result_dtype = result_dtypes::always(DType::kBool);
  parts.infer = [](Infer& i, const NumpyReduceAttrs& a) {
    i.output(a.result_shape(i.shape(0), a.axes(i.name(), i.shape(0).size())), DType::kBool);
    i.cost(streaming_cost(i));
  };
  parts.strided_inputs = true;
  parts.kernel = [reduction](KernelContext& c, const NumpyReduceAttrs& a) {
    reduction->run(c, c.input(0), a.axes(c.name(), c.input(0).shape.size()), c.output(0));
  };
  OpDef op = general<NumpyReduceAttrs>(std::move(parts));
  allow_fusion<NumpyReduceAttrs>(op, [reduction](const auto&) -> const Reduction& { return *reduction; });
  return op;
}

DType counts(DType, const NumpyReduceAttrs&) { return DType::kInt64; }

OpDef count_nonzero() {
  return reduction_operator<NumpyReduceAttrs>(of_truth(Combine::kSum), counts,
                                              {.name = "_npi_count_nonzero",
                                               .python = {"np.count_nonzero"},
                                               .doc = "Number of elements that are not 0, as int64.",
                                               .inputs = {"a"},
                                               .zero_gradient = true,
                                               .saves_inputs = kNothing,
                                               .samples = {integers({2, 3}, 0, 2)}});
}

}  // namespace

Operators logic_operators() {
  return {
      quantifier("_np_all", {}, "all", Combine::kProd,
                 "Whether all elements along `axis` are true (not 0), as bool; true of nothing. Raises ValueError for "
                 "an axis out of range."),
      quantifier(
          "_np_any", {"_np_sometrue"}, "any", Combine::kSum,
          "Whether any element along `axis` is true (not 0), as bool; false of nothing. Raises ValueError for an "
          "axis out of range."),
      count_nonzero()};
}

}  // namespace headrace
