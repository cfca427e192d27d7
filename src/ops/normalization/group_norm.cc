#include "ops/normalization/group_norm.h"

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

void infer_group_core(Infer& i, const GroupNormCore& a) {
  const Shape& shape = i.shape(0);
  i.require(shape.size() >= 3, ErrorKind::kRuntime,
            "data must have at least 3 dimensions (batch, channels, ...), got shape {}", to_string(shape));
  i.require(is_floating(i.dtype(0)), ErrorKind::kType, "data must hold floats, got {}; convert it with astype",
            dtype_name(i.dtype(0)));
  i.require(a.num_groups > 0 || shape[1] == 0, ErrorKind::kValue, "num_groups must be positive, got {}", a.num_groups);
  i.require(a.num_groups == 0 || shape[1] % a.num_groups == 0, ErrorKind::kRuntime,
            "the channels (axis 1 of data {}) must be a multiple of num_groups={}", to_string(shape), a.num_groups);
  const Shape wanted{a.num_groups};
  for (size_t k : {1, 2})
    i.require(i.shape(k) == wanted, ErrorKind::kRuntime, "{} must have shape {} beside data of shape {}, got {}",
              k == 1 ? "gamma" : "beta", to_string(wanted), to_string(shape), to_string(i.shape(k)));
  i.output(shape, i.dtype(0));
  for (int k = 0; k < 2; ++k) i.output(Shape{shape[0], a.num_groups}, i.dtype(0));
  i.cost(200 + static_cast<double>(i.size(0)) * 0.6);
}

// Gradients out of operators that can be differentiated again.
void composed_group_gradient(Gradient& g, const GroupNormCore& a) {
  const NDArray &data = g.input(0), &gamma = g.input(1);
  const int64_t batch = data.shape()[0], groups = a.num_groups, length = data.size() / (batch * groups);
  const auto rows = [&](const NDArray& v) {
    return call("_reshape_to", {v}, {{"shape", Shape{batch, groups, length}}});
  };
  const auto mean = [](const NDArray& v) { return call("mean", {v}, {{"axis", Shape{2}}, {"keepdims", true}}); };
  const auto sum = [](const NDArray& v) { return call("sum", {v}, {{"axis", Shape{0, 2}}}); };
  NDArray x = rows(data), dy = rows(g.head()), centered = x - mean(x);
  NDArray variance = mean(call("square", {centered}));
  NDArray scale = call("rsqrt", {variance + a.eps});
  NDArray z = centered * scale;
  NDArray weighted = dy * call("_reshape_to", {gamma}, {{"shape", Shape{1, groups, 1}}});
  NDArray dx = weighted - mean(weighted) - z * mean(weighted * z);
  g.set(0, call("_reshape_to", {dx * scale}, {{"shape", data.shape()}}));
  if (g.wants(1)) g.set(1, sum(dy * z));
  if (g.wants(2)) g.set(2, sum(dy));
}

void gradient(Gradient& g, const GroupNormCore& a) {
  if (!g.has_head(0)) return;  // the statistics pass no gradient on
  if (thread_state().recording && g.input(0).size() > 0) return composed_group_gradient(g, a);
  static const OpDef& backward = find_op("_backward_GroupNorm");
  const NDArray inputs[] = {g.head(), g.input(0), g.input(1), g.output(1), g.output(2)};
  std::vector<NDArray> gradients = invoke_all(backward, backward.default_attrs, inputs);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (g.wants(i)) g.set(i, gradients[i]);
}

OpDef group_core() {
  return general<GroupNormCore>(
      {.name = "_group_norm",
       .doc = "Group normalisation. Gives the result, the mean and sqrt(variance + eps) of each instance and group.",
       .inputs = {"data", "gamma", "beta"},
       .outputs = 3,
       .infer = infer_group_core,
       .kernel = [](KernelContext& c, const GroupNormCore& a) { group_norm_forward(c, a); },
       .gradient = gradient,
       .own_gradient = true,
       .saves_inputs = 0b011,
       .saves_outputs = 0b110,
       .samples = {
           Sample({uniform({2, 4, 3}), uniform({2}), uniform({2})}, make_attrs(GroupNormCore{.num_groups = 2}))}});
}

OpDef group_core_backward() {
  return general({.name = "_backward_GroupNorm",
                  .doc = "Gradients of group normalisation: of data, gamma and beta.",
                  .inputs = {"gradient", "data", "gamma", "mean", "deviation"},
                  .outputs = 3,
                  .infer =
                      [](Infer& i, const NoAttrs&) {
                        const Shape &data = i.shape(1), &gamma = i.shape(2);
                        i.require(
                            data.size() >= 3 && gamma.size() == 1 && (gamma[0] > 0 ? data[1] % gamma[0] : data[1]) == 0,
                            ErrorKind::kRuntime, "gamma of shape {} does not fit data of shape {}", to_string(gamma),
                            to_string(data));
                        expect_floats(i, 1);
                        expect_type(i, 0, data, i.dtype(1));
                        for (size_t k : {3, 4}) expect_shape(i, k, Shape{data[0], gamma[0]});
                        i.output(i.shape(1), i.dtype(1));
                        i.output(i.shape(2), i.dtype(2));
                        i.output(i.shape(2), i.dtype(2));
                        i.cost(200 + static_cast<double>(i.size(1)) * 1.2);
                      },
                  .kernel = [](KernelContext& c, const NoAttrs&) { group_norm_backward(c); },
                  .samples = {Sample({uniform({2, 4, 3}), uniform({2, 4, 3}), uniform({2}), uniform({2, 2}),
                                      uniform({2, 2}, 0.5, 2)})}});
}

std::vector<NDArray> normalized(std::span<const NDArray> in, int64_t groups, double eps) {
  static const OpDef& op = find_op("_group_norm");
  return invoke_all(op, make_attrs(GroupNormCore{groups, eps}), in);
}

struct GroupNormAttrs {
  int64_t num_groups = 1;
  double eps = 1e-5;
  bool output_mean_var = false;
  static constexpr auto kFields =
      fields(field(&GroupNormAttrs::num_groups, "num_groups", "Number of groups of neighbouring channels."),
             field(&GroupNormAttrs::eps, "eps", "Added to the variance."),
             field(&GroupNormAttrs::output_mean_var, "output_mean_var",
                   "Also give the mean and sqrt(variance + eps) of each instance and group."));
};

OpDef group_norm() {
  using A = GroupNormAttrs;
  return general<A>(
      {.name = "GroupNorm",
       .python = {"nd.GroupNorm", "npx.group_norm"},
       .doc = "(x - mean) / sqrt(variance + eps) * gamma + beta, the statistics being those of each instance and group "
              "of channels; gamma and beta have shape (num_groups,). Raises MXNetError when shapes do not fit.",
       .inputs = {"data", "gamma", "beta"},
       .output_count = [](const A& a) -> size_t { return a.output_mean_var ? 3 : 1; },
       .counted_outputs = always(3),
       .array_names = {.outputs = {"output", "mean", "std"}},
       .complete =
           [](Completion& c, const A& a) {
             for (size_t k : {1, 2}) c.set(k, Shape{a.num_groups});
             c.set_equal(0);
           },
       .compose =
           [](std::span<const NDArray> in, const A& a) {
             std::vector<NDArray> results = normalized(in, a.num_groups, a.eps);
             if (!a.output_mean_var) results.resize(1);
             return results;
           },
       .samples = {Sample({uniform({2, 4, 3}), uniform({2}), uniform({2})}, make_attrs(A{.num_groups = 2})),
                   Sample({uniform({2, 3, 2, 2}), uniform({1}), uniform({1})})}});
}

struct InstanceNormAttrs {
  double eps = 1e-3;
  static constexpr auto kFields = fields(field(&InstanceNormAttrs::eps, "eps", "Added to the variance."));
};

OpDef instance_norm() {
  using A = InstanceNormAttrs;
  return general<A>(
      {.name = "InstanceNorm",
       .python = {"nd.InstanceNorm", "npx.instance_norm"},
       .doc =
           "(x - mean) / sqrt(variance + eps) * gamma + beta, the statistics being those of each instance and channel "
           "(axis 1); gamma and beta have shape (channels,). Raises MXNetError when shapes do not fit.",
       .inputs = {"data", "gamma", "beta"},
       .counted_outputs = always(3),
       .complete =
           [](Completion& c, const A&) {
             c.set_equal(0);
             if (!c.has_rank(0) || c.shape(0).size() < 2) return;
             for (size_t k : {1, 2}) c.set(k, Shape{c.shape(0)[1]});
           },
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         check(in[0].ndim() >= 3, ErrorKind::kRuntime,
               "InstanceNorm: data must have at least 3 dimensions (batch, channels, ...), got shape {}",
               to_string(in[0].shape()));
         return {normalized(in, in[0].shape()[1], a.eps)[0]};
       },
       .samples = {Sample({uniform({2, 3, 4}), uniform({3}), uniform({3})})}});
}

}  // namespace

Operators group_norm_operators() { return {group_norm(), instance_norm(), group_core(), group_core_backward()}; }

}  // namespace headrace
