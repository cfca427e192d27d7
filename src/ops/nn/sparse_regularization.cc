// IdentityAttachKLSparseReg: passes activations on, and adds the gradient of a penalty that draws their mean to a
// target.

#include <cstring>

#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

struct PenaltyAttrs {
  double sparseness_target = 0.1, penalty = 0.001, momentum = 0.9;
  static constexpr auto kFields =
      fields(field(&PenaltyAttrs::sparseness_target, "sparseness_target", "The mean that activations should have.")
                 .between(0, 1),
             field(&PenaltyAttrs::penalty, "penalty", "Factor of the penalty."),
             field(&PenaltyAttrs::momentum, "momentum", "What is kept of the average.").between(0, 1));
};

void infer(Infer& i, const PenaltyAttrs&) {
  expect_floats(i, 0);
  i.require(i.shape(0).size() == 2, ErrorKind::kRuntime, "data must have shape (batch, units), got {}",
            to_string(i.shape(0)));
  expect_type(i, 1, Shape{i.shape(0)[1]}, i.dtype(0));
  i.output(i.shape(0), i.dtype(0));
  i.output(i.shape(1), i.dtype(1));
}

// Moves the average, and gives the data and what it has become.
void attach(KernelContext& c, const PenaltyAttrs& a) {
  const Tensor &data = c.input(0), &average = c.input(1);
  std::memcpy(c.output(0).data, data.data, static_cast<size_t>(data.size) * item_size(data.dtype));
  const int64_t rows = data.shape[0], units = data.shape[1];
  std::vector<double> sums(static_cast<size_t>(units), 0), row(sums.size()), kept(sums.size());
  const Load load = load_function(data.dtype, ComputeType::kFloat64);
  for (int64_t r = 0; r < rows; ++r) {
    load(row.data(), data.as<char>() + static_cast<size_t>(r * units) * item_size(data.dtype), 1, units);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += row[k];
  }
  load(kept.data(), average.data, 1, units);
  for (size_t k = 0; k < sums.size() && rows > 0; ++k)
    kept[k] = a.momentum * kept[k] + (1 - a.momentum) * sums[k] / static_cast<double>(rows);
  const Store store = store_function(ComputeType::kFloat64, data.dtype);
  store(kept.data(), average.data, 1, units);
  store(kept.data(), c.output(1).data, 1, units);
}

void gradient(Gradient& g, const PenaltyAttrs& a) {
  if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
  if (!g.has_head(0)) return;
  const NDArray& average = g.output(1);
  const NDArray above = call("_rdiv_scalar", {call("_rminus_scalar", {average}, {{"scalar", 1.0}})},
                             {{"scalar", a.penalty * (1 - a.sparseness_target)}});
  const NDArray below = call("_rdiv_scalar", {average}, {{"scalar", a.penalty * a.sparseness_target}});
  g.set(0, g.head(0) + call("elemwise_sub", {above, below}));
}

OpDef attaching() {
  return general<PenaltyAttrs>(
      {.name = "_kl_sparse_attach",
       .doc = "The data and the moving average of their mean over the batch, which goes into moving_avg too.",
       .inputs = {"data", "moving_avg"},
       .outputs = 2,
       .infer = infer,
       .kernel = attach,
       .gradient = gradient,
       .own_gradient = true,
       .starts_gradient = true,
       .saves_inputs = kNothing,
       .saves_outputs = 0b10,
       .mutates = 0b10,
       .samples = {Sample({uniform({4, 3}, 0.1, 0.9), uniform({3}, 0.1, 0.9)})}});
}

OpDef regularization() {
  return general<PenaltyAttrs>(
      {.name = "IdentityAttachKLSparseReg",
       .python = {"nd.IdentityAttachKLSparseReg"},
       .doc = R"(The data, activations of a sigmoid of shape (batch, units), as they are.

While training, moving_avg (units,) follows their mean over the batch, and the gradient is that of the result plus
penalty * ((1 - target) / (1 - moving_avg) - target / moving_avg), the slope of the Kullback-Leibler divergence from a
mean activation of sparseness_target. Raises then MXNetError for other shapes, TypeError for data that are not floats.)",
       .inputs = {"data", "moving_avg"},
       .array_names = {.initial_values = {"", "[\"zero\", {}]"}},
       .complete =
           [](Completion& c, const PenaltyAttrs&) {
             if (c.is_known(0) && c.shape(0).size() == 2) c.set(1, Shape{c.shape(0)[1]});
           },
       .compose = [](std::span<const NDArray> in, const PenaltyAttrs& a) -> std::vector<NDArray> {
         if (!thread_state().training) return {call("_copy", {in[0]})};
         return {call(find_op("_kl_sparse_attach"), make_attrs(a), {in[0], in[1]})};
       },
       .own_gradient = true,
       .starts_gradient = true,
       .mutates = 0b10,
       .samples = {Sample({uniform({4, 3}, 0.1, 0.9), uniform({3}, 0.1, 0.9)})}});
}

}  // namespace

Operators sparse_regularization_operators() { return {attaching(), regularization()}; }

}  // namespace headrace
