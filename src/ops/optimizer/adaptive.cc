// Updates that scale each element by its own history: Adam, AdamW, RMSProp, FTRL, FTML, LAMB.

#include "ops/optimizer/update.h"

namespace headrace {
namespace {

constexpr char kBeta1Doc[] = "Decay of the mean of gradients.";
constexpr char kBeta2Doc[] = "Decay of the mean of squared gradients.";
constexpr char kEpsilonDoc[] = "Keeps the denominator from 0.";

Expr blend(Expr kept, Expr old, Expr fresh) { return kept * old + (1 - kept) * fresh; }

struct AdamAttrs {
  double lr = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, wd = 0, rescale_grad = 1, clip_gradient = -1;
  bool lazy_update = true;
  static constexpr auto kFields =
      fields(field(&AdamAttrs::lr, "lr", kLrDoc).required(), field(&AdamAttrs::beta1, "beta1", kBeta1Doc),
             field(&AdamAttrs::beta2, "beta2", kBeta2Doc), field(&AdamAttrs::epsilon, "epsilon", kEpsilonDoc),
             field(&AdamAttrs::wd, "wd", kWdDoc), field(&AdamAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&AdamAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&AdamAttrs::lazy_update, "lazy_update", kLazyDoc));
};

OpDef adam() {
  auto spec =
      update_spec("adam_update",
                  "g = clip(rescale_grad * grad + wd * weight); mean and var are the decaying means of g and g^2; "
                  "weight -= lr * mean / (sqrt(var) + epsilon).",
                  {"weight", "grad", "mean", "var"}, {2, 3});
  spec.op.storage_forms = row_update_forms(4, LazyWhere::kAlike, [](const AdamAttrs& a) { return a.lazy_update; });
  spec.formula = [](Expr w, Expr grad, Expr mean, Expr var, Expr lr, Expr beta1, Expr beta2, Expr epsilon, Expr wd,
                    Expr rescale, Expr clip) -> std::vector<Expr> {
    Expr g = clipped(rescale * grad + wd * w, clip);
    Expr m = blend(beta1, mean, g), v = blend(beta2, var, g * g);
    return {w - lr * m / (sqrt(v) + epsilon), m, v};
  };
  return pointwise<AdamAttrs>(std::move(spec));
}

struct AdamWAttrs {
  double lr = 0.01, eta = 1, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, wd = 0, clip_gradient = -1;
  static constexpr auto kFields =
      fields(field(&AdamWAttrs::lr, "lr", kLrDoc).required(),
             field(&AdamWAttrs::eta, "eta", "Factor of the whole step.").required(),
             field(&AdamWAttrs::beta1, "beta1", kBeta1Doc), field(&AdamWAttrs::beta2, "beta2", kBeta2Doc),
             field(&AdamWAttrs::epsilon, "epsilon", kEpsilonDoc), field(&AdamWAttrs::wd, "wd", kWdDoc),
             field(&AdamWAttrs::clip_gradient, "clip_gradient", kClipDoc));
};

// Where a step is done at all.
Expr is_valid_scale(const Expr& rescale) { return logical_and(isfinite(rescale), rescale != 0); }

// {weight, mean, var}; all unchanged where the scale of the gradient is 0, infinite or NaN.
std::vector<Expr> adamw_step(Expr w, Expr grad, Expr mean, Expr var, Expr rescale, Expr lr, Expr eta, Expr beta1,
                             Expr beta2, Expr epsilon, Expr wd, Expr clip) {
  Expr valid = is_valid_scale(rescale);
  Expr g = clipped(rescale * grad, clip);
  Expr m = blend(beta1, mean, g), v = blend(beta2, var, g * g);
  Expr next = w - eta * (lr * m / (sqrt(v) + epsilon) + wd * w);
  return {select(valid, next, w), select(valid, m, mean), select(valid, v, var)};
}

constexpr char kAdamWDoc[] =
    "Adam with the weight decay beside the adaptive step: weight -= eta * (lr * mean / (sqrt(var) + epsilon) + wd * "
    "weight). rescale_grad is an array of one element; where it is 0, infinite or NaN the step is left out. Else "
    "the gradient is rescaled in place.";

OpDef adamw() {
  auto spec = update_spec("_adamw_update", kAdamWDoc, {"weight", "grad", "mean", "var", "rescale_grad"}, {1, 2, 3});
  spec.equal_shapes = false;
  spec.op.storage_forms = {};
  spec.formula = [](Expr w, Expr grad, Expr mean, Expr var, Expr rescale, Expr lr, Expr eta, Expr beta1, Expr beta2,
                    Expr epsilon, Expr wd, Expr clip) -> std::vector<Expr> {
    auto next = adamw_step(w, grad, mean, var, rescale, lr, eta, beta1, beta2, epsilon, wd, clip);
    return {next[0], select(is_valid_scale(rescale), rescale * grad, grad), next[1], next[2]};
  };
  spec.op.samples[0].inputs[4].shape = {1};
  return pointwise<AdamWAttrs>(std::move(spec));
}

OpDef mp_adamw() {
  auto spec = update_spec("_mp_adamw_update", "_adamw_update on the master copy weight32; the gradient stays.",
                          {"weight", "grad", "mean", "var", "weight32", "rescale_grad"}, {2, 3, 4});
  spec.equal_shapes = false;
  spec.op.storage_forms = {};
  spec.formula = [](Expr, Expr grad, Expr mean, Expr var, Expr w, Expr rescale, Expr lr, Expr eta, Expr beta1,
                    Expr beta2, Expr epsilon, Expr wd, Expr clip) -> std::vector<Expr> {
    auto next = adamw_step(w, grad, mean, var, rescale, lr, eta, beta1, beta2, epsilon, wd, clip);
    return {next[0], next[1], next[2], next[0]};
  };
  spec.op.samples[0].inputs[5].shape = {1};
  return pointwise<AdamWAttrs>(std::move(spec));
}

struct RmsPropAttrs {
  double lr = 0.01, gamma1 = 0.95, epsilon = 1e-8, wd = 0, rescale_grad = 1, clip_gradient = -1, clip_weights = -1;
  static constexpr auto kFields =
      fields(field(&RmsPropAttrs::lr, "lr", kLrDoc).required(), field(&RmsPropAttrs::gamma1, "gamma1", kBeta2Doc),
             field(&RmsPropAttrs::epsilon, "epsilon", kEpsilonDoc), field(&RmsPropAttrs::wd, "wd", kWdDoc),
             field(&RmsPropAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&RmsPropAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&RmsPropAttrs::clip_weights, "clip_weights", "Bound of the absolute weight; negative: none."));
};

OpDef rmsprop() {
  auto spec =
      update_spec("rmsprop_update",
                  "g = clip(rescale_grad * grad + wd * weight); n is the decaying mean of g^2; weight -= lr * g / "
                  "sqrt(n + epsilon).",
                  {"weight", "grad", "n"}, {2});
  spec.formula = [](Expr w, Expr grad, Expr n, Expr lr, Expr gamma1, Expr epsilon, Expr wd, Expr rescale, Expr clip,
                    Expr bound) -> std::vector<Expr> {
    Expr g = clipped(rescale * grad + wd * w, clip), mean = blend(gamma1, n, g * g);
    return {clipped(w - lr * g / sqrt(mean + epsilon), bound), mean};
  };
  return pointwise<RmsPropAttrs>(std::move(spec));
}

struct RmsPropAlexAttrs {
  double lr = 0.01, gamma1 = 0.95, gamma2 = 0.9, epsilon = 1e-8, wd = 0, rescale_grad = 1, clip_gradient = -1,
         clip_weights = -1;
  static constexpr auto kFields = fields(
      field(&RmsPropAlexAttrs::lr, "lr", kLrDoc).required(), field(&RmsPropAlexAttrs::gamma1, "gamma1", kBeta2Doc),
      field(&RmsPropAlexAttrs::gamma2, "gamma2", "What is kept of the last step."),
      field(&RmsPropAlexAttrs::epsilon, "epsilon", kEpsilonDoc), field(&RmsPropAlexAttrs::wd, "wd", kWdDoc),
      field(&RmsPropAlexAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
      field(&RmsPropAlexAttrs::clip_gradient, "clip_gradient", kClipDoc),
      field(&RmsPropAlexAttrs::clip_weights, "clip_weights", "Bound of the absolute weight; negative: none."));
};

OpDef rmsprop_alex() {
  auto spec =
      update_spec("rmspropalex_update",
                  "RMSProp as Alex Graves has it: the mean gradient g is taken off the second moment n, and delta "
                  "= gamma2 * delta - lr * grad / sqrt(n - g^2 + epsilon); weight += delta.",
                  {"weight", "grad", "n", "g", "delta"}, {2, 3, 4});
  spec.formula = [](Expr w, Expr grad, Expr n, Expr g, Expr delta, Expr lr, Expr gamma1, Expr gamma2, Expr epsilon,
                    Expr wd, Expr rescale, Expr clip, Expr bound) -> std::vector<Expr> {
    Expr now = clipped(rescale * grad + wd * w, clip);
    Expr square_mean = blend(gamma1, n, now * now), mean = blend(gamma1, g, now);
    Expr step = gamma2 * delta - lr * now / sqrt(square_mean - mean * mean + epsilon);
    return {clipped(w + step, bound), square_mean, mean, step};
  };
  for (size_t i : {size_t{2}, size_t{3}})
    spec.op.samples[0].inputs[i] = uniform({2, 3}, i == 2 ? 2 : 0, i == 2 ? 3 : 1);
  return pointwise<RmsPropAlexAttrs>(std::move(spec));
}

struct FtrlAttrs {
  double lr = 0.1, lamda1 = 0.01, beta = 1, wd = 0, rescale_grad = 1, clip_gradient = -1;
  static constexpr auto kFields = fields(
      field(&FtrlAttrs::lr, "lr", kLrDoc).required(), field(&FtrlAttrs::lamda1, "lamda1", "Weight of the L1 penalty."),
      field(&FtrlAttrs::beta, "beta", "Keeps the per-element learning rate from infinity."),
      field(&FtrlAttrs::wd, "wd", "Weight of the L2 penalty."),
      field(&FtrlAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
      field(&FtrlAttrs::clip_gradient, "clip_gradient", kClipDoc));
};

OpDef ftrl() {
  auto spec = update_spec("ftrl_update",
                          "Follow the regularised leader: z += g - (sqrt(n + g^2) - sqrt(n)) * weight / lr; n += g^2; "
                          "weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd) where |z| > lamda1, else 0.",
                          {"weight", "grad", "z", "n"}, {2, 3});
  spec.op.storage_forms = row_update_forms(4, LazyWhere::kAllSparse);
  spec.formula = [](Expr w, Expr grad, Expr z, Expr n, Expr lr, Expr lamda1, Expr beta, Expr wd, Expr rescale,
                    Expr clip) -> std::vector<Expr> {
    Expr g = clipped(rescale * grad, clip), total = n + g * g;
    Expr leader = z + g - (sqrt(total) - sqrt(n)) * w / lr;
    Expr weight = (sign(leader) * lamda1 - leader) / ((beta + sqrt(total)) / lr + wd);
    return {select(abs(leader) > lamda1, weight, 0), leader, total};
  };
  return pointwise<FtrlAttrs>(std::move(spec));
}

struct FtmlAttrs {
  double lr = 0.01, beta1 = 0.6, beta2 = 0.999, epsilon = 1e-8, t = 1, wd = 0, rescale_grad = 1, clip_grad = -1;
  static constexpr auto kFields =
      fields(field(&FtmlAttrs::lr, "lr", kLrDoc).required(), field(&FtmlAttrs::beta1, "beta1", kBeta1Doc),
             field(&FtmlAttrs::beta2, "beta2", kBeta2Doc), field(&FtmlAttrs::epsilon, "epsilon", kEpsilonDoc),
             field(&FtmlAttrs::t, "t", "Number of this update, from 1.").required(),
             field(&FtmlAttrs::wd, "wd", kWdDoc), field(&FtmlAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&FtmlAttrs::clip_grad, "clip_grad", kClipDoc));
};

OpDef ftml() {
  auto spec =
      update_spec("ftml_update",
                  "Follow the moving leader: v is the decaying mean of g^2; d' = (1 - beta1^t) / lr * (sqrt(v / (1 "
                  "- beta2^t)) + epsilon); z = beta1 * z + (1 - beta1) * g - (d' - beta1 * d) * weight; weight = "
                  "-z / d'.",
                  {"weight", "grad", "d", "v", "z"}, {2, 3, 4});
  spec.formula = [](Expr w, Expr grad, Expr d, Expr v, Expr z, Expr lr, Expr beta1, Expr beta2, Expr epsilon, Expr t,
                    Expr wd, Expr rescale, Expr clip) -> std::vector<Expr> {
    Expr g = clipped(rescale * grad + wd * w, clip), mean = blend(beta2, v, g * g);
    Expr scale = (1 - pow(beta1, t)) / lr * (sqrt(mean / (1 - pow(beta2, t))) + epsilon);
    Expr leader = blend(beta1, z, g) - (scale - beta1 * d) * w;
    return {-leader / scale, scale, mean, leader};
  };
  return pointwise<FtmlAttrs>(std::move(spec));
}

struct LambDirectionAttrs {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, t = 1, bias_correction = 1, wd = 0, rescale_grad = 1,
         clip_gradient = -1;
  static constexpr auto kFields = fields(
      field(&LambDirectionAttrs::beta1, "beta1", kBeta1Doc), field(&LambDirectionAttrs::beta2, "beta2", kBeta2Doc),
      field(&LambDirectionAttrs::epsilon, "epsilon", kEpsilonDoc),
      field(&LambDirectionAttrs::t, "t", "Number of this update, from 1.").required(),
      field(&LambDirectionAttrs::bias_correction, "bias_correction", "Whether the young means are scaled up (1 or 0)."),
      field(&LambDirectionAttrs::wd, "wd", kWdDoc),
      field(&LambDirectionAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
      field(&LambDirectionAttrs::clip_gradient, "clip_gradient", kClipDoc));
};

// {direction, mean, var}
std::vector<Expr> lamb_direction_of(Expr w, Expr grad, Expr mean, Expr var, Expr beta1, Expr beta2, Expr epsilon,
                                    Expr t, Expr corrected, Expr wd, Expr rescale, Expr clip) {
  Expr g = clipped(rescale * grad, clip);
  Expr m = blend(beta1, mean, g), v = blend(beta2, var, g * g);
  Expr m_scale = select(corrected, 1 - pow(beta1, t), 1), v_scale = select(corrected, 1 - pow(beta2, t), 1);
  return {m / m_scale / (sqrt(v / v_scale) + epsilon) + wd * w, m, v};
}

OpDef lamb_direction() {
  auto spec =
      update_spec("lamb_update_phase1",
                  "The direction of a LAMB step: mean / (sqrt(var) + epsilon) + wd * weight, where mean and var are "
                  "the decaying means of g = clip(rescale_grad * grad) and g^2.",
                  {"weight", "grad", "mean", "var"}, {2, 3});
  spec.formula = [](Expr w, Expr grad, Expr mean, Expr var, Expr beta1, Expr beta2, Expr epsilon, Expr t,
                    Expr corrected, Expr wd, Expr rescale, Expr clip) {
    return lamb_direction_of(w, grad, mean, var, beta1, beta2, epsilon, t, corrected, wd, rescale, clip);
  };
  spec.op.samples[0].attrs = make_attrs(LambDirectionAttrs{.t = 2});
  return pointwise<LambDirectionAttrs>(std::move(spec));
}

OpDef mp_lamb_direction() {
  auto spec = update_spec("mp_lamb_update_phase1", "lamb_update_phase1 of the master copy weight32, in its dtype.",
                          {"weight", "grad", "mean", "var", "weight32"}, {2, 3});
  spec.dtypes = [](const char* name, std::span<const DType> inputs, const Attrs& attrs) {
    return dtype_rules::like_first(name, inputs.subspan(4), attrs);
  };
  spec.formula = [](Expr, Expr grad, Expr mean, Expr var, Expr w, Expr beta1, Expr beta2, Expr epsilon, Expr t,
                    Expr corrected, Expr wd, Expr rescale, Expr clip) {
    return lamb_direction_of(w, grad, mean, var, beta1, beta2, epsilon, t, corrected, wd, rescale, clip);
  };
  spec.op.samples[0].attrs = make_attrs(LambDirectionAttrs{.t = 2});
  return pointwise<LambDirectionAttrs>(std::move(spec));
}

struct LambStepAttrs {
  double lr = 0.01, lower_bound = -1, upper_bound = -1;
  static constexpr auto kFields = fields(
      field(&LambStepAttrs::lr, "lr", kLrDoc).required(),
      field(&LambStepAttrs::lower_bound, "lower_bound", "Least norm of the weight that counts; negative: none."),
      field(&LambStepAttrs::upper_bound, "upper_bound", "Largest norm of the weight that counts; negative: none."));
};

Expr lamb_step_of(Expr g, Expr r1, Expr r2, Expr lr, Expr lower, Expr upper) {
  Expr raised = select(lower >= 0, max(r1, lower), r1);
  Expr norm = select(upper >= 0, min(raised, upper), raised);
  return lr * select(logical_or(norm == 0, r2 == 0), 1, norm / r2) * g;
}

OpDef lamb_step() {
  auto spec =
      update_spec("lamb_update_phase2",
                  "weight - lr * r1 / r2 * g: a LAMB step along g, r1 and r2 being the norms of weight and g as "
                  "arrays of one element. The ratio is 1 where a norm is 0.",
                  {"weight", "g", "r1", "r2"}, {});
  spec.equal_shapes = false;
  spec.op.storage_forms = {};
  spec.formula = [](Expr w, Expr g, Expr r1, Expr r2, Expr lr, Expr lower, Expr upper) {
    return w - lamb_step_of(g, r1, r2, lr, lower, upper);
  };
  for (size_t i : {size_t{2}, size_t{3}}) spec.op.samples[0].inputs[i].shape = {1};
  return pointwise<LambStepAttrs>(std::move(spec));
}

OpDef mp_lamb_step() {
  auto spec =
      update_spec("mp_lamb_update_phase2", "lamb_update_phase2 from the master copy weight32, which stays as it is.",
                  {"weight", "g", "r1", "r2", "weight32"}, {});
  spec.equal_shapes = false;
  spec.op.storage_forms = {};
  spec.formula = [](Expr, Expr g, Expr r1, Expr r2, Expr w, Expr lr, Expr lower, Expr upper) {
    return w - lamb_step_of(g, r1, r2, lr, lower, upper);
  };
  for (size_t i : {size_t{2}, size_t{3}}) spec.op.samples[0].inputs[i].shape = {1};
  return pointwise<LambStepAttrs>(std::move(spec));
}

}  // namespace

Operators adaptive_operators() {
  Operators operators;
  operators.push_back(adam());
  operators.push_back(adamw());
  operators.push_back(mp_adamw());
  operators.push_back(rmsprop());
  operators.push_back(rmsprop_alex());
  operators.push_back(ftrl());
  operators.push_back(ftml());
  operators.push_back(lamb_direction());
  operators.push_back(mp_lamb_direction());
  operators.push_back(lamb_step());
  operators.push_back(mp_lamb_step());
  return operators;
}

}  // namespace headrace
