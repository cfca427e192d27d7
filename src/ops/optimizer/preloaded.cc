// SGD updates of many parameters in one call, with the rates and decays in two arrays of one number for each weight.

#include "base/check.h"
#include "op/invoke.h"
#include "ops/optimizer/update.h"

namespace headrace {
namespace {

struct StepAttrs {
  double momentum = 0, rescale_grad = 1, clip_gradient = -1;
  static constexpr auto kFields = fields(field(&StepAttrs::momentum, "momentum", "What is kept of the last step."),
                                         field(&StepAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
                                         field(&StepAttrs::clip_gradient, "clip_gradient", kClipDoc));
};

struct PreloadedAttrs {
  double rescale_grad = 1, clip_gradient = -1;
  int64_t num_weights = 1;
  static constexpr auto kFields =
      fields(field(&PreloadedAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&PreloadedAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&PreloadedAttrs::num_weights, "num_weights", "How many weights there are.").between(1, kMostInt));
};

struct PreloadedMomentumAttrs {
  double momentum = 0, rescale_grad = 1, clip_gradient = -1;
  int64_t num_weights = 1;
  static constexpr auto kFields = fields(
      field(&PreloadedMomentumAttrs::momentum, "momentum", "What is kept of the last step."),
      field(&PreloadedMomentumAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
      field(&PreloadedMomentumAttrs::clip_gradient, "clip_gradient", kClipDoc),
      field(&PreloadedMomentumAttrs::num_weights, "num_weights", "How many weights there are.").between(1, kMostInt));
};

Expr step(Expr w, Expr g, Expr kept, Expr lr, Expr wd, Expr rescale, Expr clip) {
  return kept - lr * wd * w - lr * clipped(rescale * g, clip);
}

// One weight. Behind weight and grad come mom and weight32, where there are such, then lr and wd of one element.
OpDef single(bool has_momentum, bool has_master) {
  std::string name = std::string("_preloaded_") + (has_master ? "mp_" : "") + (has_momentum ? "sgd_mom" : "sgd");
  std::vector<std::string> inputs{"weight", "grad"};
  std::vector<uint32_t> states;
  for (const auto& [has, input] : {std::pair{has_momentum, "mom"}, std::pair{has_master, "weight32"}}) {
    if (!has) continue;
    states.push_back(static_cast<uint32_t>(inputs.size()));
    inputs.push_back(input);
  }
  inputs.insert(inputs.end(), {"lr", "wd"});
  auto spec = update_spec(name, "One weight of the preloaded_multi updates.", inputs, states);
  spec.op.python.clear();
  spec.equal_shapes = false;
  for (size_t i = inputs.size() - 2; i < inputs.size(); ++i) spec.op.samples[0].inputs[i].shape = {1};
  if (has_momentum && has_master)
    spec.formula = [](Expr, Expr g, Expr m, Expr w, Expr lr, Expr wd, Expr momentum, Expr rescale,
                      Expr clip) -> std::vector<Expr> {
      Expr d = step(w, g, momentum * m, lr, wd, rescale, clip);
      return {w + d, d, w + d};
    };
  else if (has_momentum)
    spec.formula = [](Expr w, Expr g, Expr m, Expr lr, Expr wd, Expr momentum, Expr rescale,
                      Expr clip) -> std::vector<Expr> {
      Expr d = step(w, g, momentum * m, lr, wd, rescale, clip);
      return {w + d, d};
    };
  else if (has_master)
    spec.formula = [](Expr, Expr g, Expr w, Expr lr, Expr wd, Expr, Expr rescale, Expr clip) -> std::vector<Expr> {
      Expr next = w + step(w, g, 0, lr, wd, rescale, clip);
      return {next, next};
    };
  else
    spec.formula = [](Expr w, Expr g, Expr lr, Expr wd, Expr, Expr rescale, Expr clip) {
      return w + step(w, g, 0, lr, wd, rescale, clip);
    };
  return pointwise<StepAttrs>(std::move(spec));
}

std::vector<NDArray> update_all(std::span<const NDArray> in, const char* single_name, int64_t num_weights,
                                size_t arrays_per_weight, StepAttrs attrs) {
  check(num_weights >= 1, ErrorKind::kValue, "preloaded_multi: num_weights must be at least 1, got {}", num_weights);
  const auto count = static_cast<size_t>(num_weights);
  const size_t arrays = count * arrays_per_weight;
  check(in.size() == arrays + 2 && in[arrays].size() == num_weights && in[arrays + 1].size() == num_weights,
        ErrorKind::kValue, "preloaded_multi: {} weights need {} arrays, then lrs and wds of {} numbers; got {} arrays",
        count, arrays, count, in.size());
  const OpDef& op = find_op(single_name);
  const AttrsPtr step_attrs = make_attrs(attrs);
  const auto number = [](const NDArray& list, size_t i) {
    const NDArray flat = call("_reshape_to", {list}, {{"shape", Shape{list.size()}}});
    const auto at = static_cast<int64_t>(i);
    return call("slice_axis", {flat}, {{"axis", int64_t{0}}, {"begin", at}, {"end", at + 1}});
  };
  std::vector<NDArray> results;
  for (size_t i = 0; i < count; ++i) {
    const auto own = in.subspan(i * arrays_per_weight, arrays_per_weight);
    std::vector<NDArray> inputs(own.begin(), own.end());
    inputs.push_back(number(in[arrays], i));
    inputs.push_back(number(in[arrays + 1], i));
    results.push_back(invoke_all(op, step_attrs, inputs)[0]);
  }
  return results;
}

StepAttrs step_attrs(const PreloadedAttrs& a) { return {0, a.rescale_grad, a.clip_gradient}; }
StepAttrs step_attrs(const PreloadedMomentumAttrs& a) { return {a.momentum, a.rescale_grad, a.clip_gradient}; }

template <class A>
OpDef preloaded(const char* name, const char* single_name, std::vector<const char*> names) {
  const size_t arrays = names.size();
  std::vector<SampleArray> sample(2 * arrays, uniform({2, 3}, 0.5, 1.5));
  sample.insert(sample.end(), {uniform({2}, 0.1, 0.2), uniform({2}, 0, 0.1)});
  return general<A>(
      {.name = name,
       .python = {std::string("nd.") + name},
       .doc =
           std::string("SGD steps of several weights: ") + fmt::format("{}", fmt::join(names, ", ")) +
           " of the first weight, those of the second, and so on, then the arrays lrs and wds of a learning rate and "
           "a weight decay for each. Gives the new weights; states are changed in place. Raises ValueError when the "
           "numbers do not fit.",
       .variadic = true,
       .output_count = [](const A& a) { return static_cast<size_t>(std::max<int64_t>(a.num_weights, 0)); },
       .input_name = [names](const A& a, size_t i) -> std::string {
         const size_t weights = static_cast<size_t>(a.num_weights) * names.size();
         if (i >= weights) return i == weights ? "lrs" : "wds";
         return fmt::format("{}_{}", names[i % names.size()], i / names.size());
       },
       .input_count =
           [arrays](const A& a) { return static_cast<size_t>(std::max<int64_t>(a.num_weights, 0)) * arrays + 2; },
       .compose = [single_name, arrays](
                      std::span<const NDArray> in,
                      const A& a) { return update_all(in, single_name, a.num_weights, arrays, step_attrs(a)); },
       .samples = {Sample(std::move(sample), make_attrs(A{.num_weights = 2}))}});
}

}  // namespace

Operators preloaded_operators() {
  return {
      single(false, false),
      single(true, false),
      single(false, true),
      single(true, true),
      preloaded<PreloadedAttrs>("preloaded_multi_sgd_update", "_preloaded_sgd", {"weight", "grad"}),
      preloaded<PreloadedMomentumAttrs>("preloaded_multi_sgd_mom_update", "_preloaded_sgd_mom",
                                        {"weight", "grad", "mom"}),
      preloaded<PreloadedAttrs>("preloaded_multi_mp_sgd_update", "_preloaded_mp_sgd", {"weight", "grad", "weight32"}),
      preloaded<PreloadedMomentumAttrs>("preloaded_multi_mp_sgd_mom_update", "_preloaded_mp_sgd_mom",
                                        {"weight", "grad", "mom", "weight32"}),
  };
}

}  // namespace headrace
