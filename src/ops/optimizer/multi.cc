// Updates of many parameters in one call, with a learning rate and a weight decay for each.

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "ops/optimizer/update.h"

namespace headrace {
namespace {

struct MultiAttrs {
  Doubles lrs = {}, wds = {};
  double momentum = 0, rescale_grad = 1, clip_gradient = -1;
  int64_t num_weights = 1;
  static constexpr auto kFields =
      fields(field(&MultiAttrs::lrs, "lrs", "Learning rate of each weight.").required(),
             field(&MultiAttrs::wds, "wds", "Weight decay of each weight.").required(),
             field(&MultiAttrs::momentum, "momentum", "What is kept of the last step; of no effect without momentum."),
             field(&MultiAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&MultiAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&MultiAttrs::num_weights, "num_weights", "How many weights there are."));
};

// `name` is "multi_" + `single`; each weight brings as many arrays as `single` has inputs, one weight after the other.
OpDef multi(std::string single, size_t arrays_per_weight, bool has_momentum) {
  std::string name = "multi_" + single;
  auto update_all = [single, name, arrays_per_weight, has_momentum](std::span<const NDArray> in, const MultiAttrs& a) {
    size_t count = static_cast<size_t>(a.num_weights);
    check(in.size() == count * arrays_per_weight && a.lrs.size() == count && a.wds.size() == count, ErrorKind::kValue,
          "{}: {} weights need {} arrays, {} lrs and {} wds; got {}, {} and {}", name, count, count * arrays_per_weight,
          count, count, in.size(), a.lrs.size(), a.wds.size());
    const OpDef& op = find_op(single);
    std::vector<NDArray> results;
    for (size_t i = 0; i < count; ++i) {
      IntrusivePtr<Attrs> attrs = op.make_attrs();
      auto set = [&](const char* field_name, double value) {
        const FieldInfo* field = op.schema->find(field_name);
        field->set(attrs->mutable_data(), value, *field, name.c_str());
      };
      set("lr", a.lrs[i]);
      set("wd", a.wds[i]);
      set("rescale_grad", a.rescale_grad);
      set("clip_gradient", a.clip_gradient);
      if (has_momentum) set("momentum", a.momentum);
      results.push_back(invoke_all(op, AttrsPtr(attrs.get()), in.subspan(i * arrays_per_weight, arrays_per_weight))[0]);
    }
    return results;
  };
  std::vector<SampleArray> arrays(2 * arrays_per_weight, uniform({2, 3}, 0.5, 1.5));
  return general<MultiAttrs>(
      {.name = name,
       .python = {"nd." + name},
       .doc = single +
              " of several weights: the arrays of the first, then those of the second, and so on. Gives the new "
              "weights; states are changed in place. Raises ValueError when the numbers of arrays, rates and "
              "decays do not fit.",
       .variadic = true,
       .output_count = [](const MultiAttrs& a) { return static_cast<size_t>(std::max<int64_t>(a.num_weights, 0)); },
       .compose = update_all,
       .samples = {
           Sample(std::move(arrays), make_attrs(MultiAttrs{.lrs = {0.1, 0.2}, .wds = {0, 0.1}, .num_weights = 2}))}});
}

struct ResetAttrs {
  int64_t num_arrays = 1;
  static constexpr auto kFields =
      fields(field(&ResetAttrs::num_arrays, "num_arrays", "How many arrays there are.").counts_inputs());
};

OpDef reset_arrays() {
  return general<ResetAttrs>(
      {.name = "reset_arrays",
       .python = {"nd.reset_arrays"},
       .doc = "Writes zeros into all arrays. Gives the last of them.",
       .variadic = true,
       .array_names = {.inputs = "array_"},
       .compose = [](std::span<const NDArray> in, const ResetAttrs&) -> std::vector<NDArray> {
         check(!in.empty(), ErrorKind::kValue, "reset_arrays: at least one array is needed");
         for (const NDArray& one : in)
           copy_into(one, call("_broadcast_shape", {full({}, 0, one.dtype(), one.device())}, {{"shape", one.shape()}}));
         return {in.back()};
       },
       .samples = {
           Sample({uniform({2, 3}), uniform({2}), integers({3}, 1, 5)}, make_attrs(ResetAttrs{.num_arrays = 3}))}});
}

struct FiniteAttrs {
  bool init_output = true;
  static constexpr auto kFields =
      fields(field(&FiniteAttrs::init_output, "init_output", "Of no effect: the result is always new."));
};

struct MultiFiniteAttrs {
  int64_t num_arrays = 1;
  bool init_output = true;
  static constexpr auto kFields =
      fields(field(&MultiFiniteAttrs::num_arrays, "num_arrays", "How many arrays there are.").counts_inputs(),
             field(&MultiFiniteAttrs::init_output, "init_output", "Of no effect: the result is always new."));
};

std::vector<NDArray> all_finite(std::span<const NDArray> in) {
  check(!in.empty(), ErrorKind::kValue, "all_finite: at least one array is needed");
  NDArray result;
  for (const NDArray& one : in) {
    NDArray finite = cast_to(call("min", {call("_contrib_isfinite", {one})}), DType::kFloat32);
    result = result ? result * finite : finite;
  }
  return {result};
}

constexpr char kFiniteDoc[] = "1 when every element is neither infinite nor NaN, else 0: an array of shape (1,).";

}  // namespace

Operators multi_update_operators() {
  Operators operators;
  operators.push_back(multi("sgd_update", 2, false));
  operators.push_back(multi("sgd_mom_update", 3, true));
  operators.push_back(multi("mp_sgd_update", 3, false));
  operators.push_back(multi("mp_sgd_mom_update", 4, true));
  operators.push_back(reset_arrays());
  operators.push_back(
      general<FiniteAttrs>({.name = "all_finite",
                            .python = {"nd.all_finite"},
                            .doc = kFiniteDoc,
                            .result_dtype = result_dtypes::always(DType::kFloat32),
                            .compose = [](std::span<const NDArray> in, const FiniteAttrs&) { return all_finite(in); },
                            .samples = {uniform({2, 3}), values({1, kInf})}}));
  operators.push_back(general<MultiFiniteAttrs>(
      {.name = "multi_all_finite",
       .python = {"nd.multi_all_finite"},
       .doc = kFiniteDoc,
       .variadic = true,
       .array_names = {.inputs = "array_"},
       .result_dtype = result_dtypes::always(DType::kFloat32),
       .compose = [](std::span<const NDArray> in, const MultiFiniteAttrs&) { return all_finite(in); },
       .samples = {Sample({uniform({2, 3}), values({1, kNan})})}}));
  return operators;
}

}  // namespace headrace
