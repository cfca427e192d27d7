// Updates whose rate falls with the sum of squared gradients, by element or by row, and the rates of LARS.

#include <cmath>

#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/optimizer/update.h"

namespace headrace {
namespace {

struct AdagradAttrs {
  double lr = 0.01, epsilon = 1e-7, wd = 0, rescale_grad = 1, clip_gradient = -1;
  static constexpr auto kFields =
      fields(field(&AdagradAttrs::lr, "lr", kLrDoc).required(),
             field(&AdagradAttrs::epsilon, "epsilon", "Keeps the denominator from 0."),
             field(&AdagradAttrs::wd, "wd", "Weight decay: 0, there is none.").between(0, 0),
             field(&AdagradAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&AdagradAttrs::clip_gradient, "clip_gradient", kClipDoc));
};

OpDef adagrad() {
  auto spec = update_spec("_sparse_adagrad_update",
                          "g = clip(rescale_grad * grad); history += g^2; weight -= lr * g / sqrt(history + epsilon). "
                          "Rows that a row_sparse gradient does not store stay as they are.",
                          {"weight", "grad", "history"}, {2});
  spec.op.python = {"nd.sparse.adagrad_update"};
  spec.op.storage_forms = row_update_forms(3, LazyWhere::kAlike);
  spec.formula = [](Expr w, Expr grad, Expr history, Expr lr, Expr epsilon, Expr, Expr rescale,
                    Expr clip) -> std::vector<Expr> {
    Expr g = clipped(rescale * grad, clip), sum = history + g * g;
    return {w - lr * g / sqrt(sum + epsilon), sum};
  };
  return pointwise<AdagradAttrs>(std::move(spec));
}

struct GroupAttrs {
  double lr = 0.01, rescale_grad = 1, clip_gradient = -1, epsilon = 1e-5;
  static constexpr auto kFields = fields(field(&GroupAttrs::lr, "lr", kLrDoc).required(),
                                         field(&GroupAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
                                         field(&GroupAttrs::clip_gradient, "clip_gradient", kClipDoc),
                                         field(&GroupAttrs::epsilon, "epsilon", "Keeps the denominator from 0."));
};

void infer_group(Infer& i, const GroupAttrs&) {
  const Shape& weight = i.shape(0);
  expect_floats(i, 0);
  i.require(!weight.empty(), ErrorKind::kRuntime, "a weight with rows is needed, got shape ()");
  expect_type(i, 1, weight, i.dtype(0));
  i.require(i.size(2) == weight[0] && i.dtype(2) == i.dtype(0), ErrorKind::kRuntime,
            "history must hold {} numbers of {}, one for each row of weight {}, got {} of shape {}", weight[0],
            dtype_name(i.dtype(0)), to_string(weight), dtype_name(i.dtype(2)), to_string(i.shape(2)));
  i.output(weight, i.dtype(0));
}

void update_groups(KernelContext& c, const GroupAttrs& a) {
  const Tensor &weight = c.input(0), &grad = c.input(1), &history = c.input(2), &out = c.output(0);
  if (weight.size == 0) return;
  const int64_t rows = weight.shape[0], width = weight.size / rows;
  const auto row_bytes = static_cast<size_t>(width) * item_size(weight.dtype);
  const Load load = load_function(weight.dtype, ComputeType::kFloat64);
  const Store store = store_function(ComputeType::kFloat64, weight.dtype);
  std::vector<double> w(static_cast<size_t>(width)), g(w.size());
  for (int64_t row = 0; row < rows; ++row) {
    const size_t at = static_cast<size_t>(row) * row_bytes, place = static_cast<size_t>(row) * item_size(weight.dtype);
    load(w.data(), weight.as<char>() + at, 1, width);
    load(g.data(), grad.as<char>() + at, 1, width);
    double squares = 0, sum;
    for (double& one : g) {
      one *= a.rescale_grad;
      if (a.clip_gradient >= 0) one = std::clamp(one, -a.clip_gradient, a.clip_gradient);
      squares += one * one;
    }
    load(&sum, history.as<char>() + place, 1, 1);
    sum += squares / static_cast<double>(width);
    const double rate = a.lr / std::sqrt(sum + a.epsilon);
    for (size_t k = 0; k < w.size(); ++k) w[k] -= rate * g[k];
    store(w.data(), out.as<char>() + at, 1, width);
    store(&sum, history.as<char>() + place, 1, 1);
  }
}

OpDef group_adagrad() {
  return general<GroupAttrs>(
      {.name = "_contrib_group_adagrad_update",
       .python = {"nd.contrib.group_adagrad_update"},
       .doc =
           "g = clip(rescale_grad * grad); history += the mean of g^2 in each row; weight -= lr * g / sqrt(history + "
           "epsilon). Gives the new weight; history, one number for each row, is changed in place. Rows that a "
           "row_sparse gradient does not store stay as they are. Raises "
           "MXNetError for arrays that do not fit.",
       .inputs = {"weight", "grad", "history"},
       .infer = infer_group,
       .kernel = update_groups,
       .storage_forms = row_update_forms(3, LazyWhere::kAlike),
       .mutates = 0b100,
       .samples = {Sample({uniform({3, 2}), uniform({3, 2}), uniform({3, 1}, 0.5, 1.5)})}});
}

struct LarsAttrs {
  double eta = 0.001, eps = 0, rescale_grad = 1;
  static constexpr auto kFields =
      fields(field(&LarsAttrs::eta, "eta", "Factor of the ratio of norms.").required(),
             field(&LarsAttrs::eps, "eps", "Keeps the denominator from 0.").required(),
             field(&LarsAttrs::rescale_grad, "rescale_grad", "Factor of the gradients' norms."));
};

OpDef multi_lars() {
  PointwiseSpec spec{
      .op = {.name = "multi_lars",
             .python = {"nd.multi_lars"},
             .doc = "Learning rates of LARS: lrs * eta * |w| / (|g| * rescale_grad + wds * |w| + eps) from the sums of "
                    "squares of weights and gradients; lrs where one of them is 0. Raises MXNetError unless all arrays "
                    "have one shape.",
             .inputs = {"lrs", "weights_sum_sq", "grads_sum_sq", "wds"},
             .samples = {Sample(std::vector<SampleArray>(4, uniform({3}, 0.5, 1.5)),
                                make_attrs(LarsAttrs{.eta = 0.1, .eps = 0.01}))}},
      .differentiable = false,
      .equal_shapes = true};
  spec.formula = [](Expr lrs, Expr weights, Expr grads, Expr wds, Expr eta, Expr eps, Expr rescale) {
    Expr norm = sqrt(weights);
    Expr scaled = lrs * eta * norm / (sqrt(grads) * rescale + wds * norm + eps);
    return select(logical_and(norm > 0, grads > 0), scaled, lrs);
  };
  return pointwise<LarsAttrs>(std::move(spec));
}

}  // namespace

Operators adagrad_operators() { return {adagrad(), group_adagrad(), multi_lars()}; }

}  // namespace headrace
