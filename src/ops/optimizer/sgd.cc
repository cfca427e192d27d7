// Gradient descent: plain, with momentum, Nesterov's, by signs; forms that keep a float32 master copy of the weight.

#include "op/invoke.h"
#include "ops/optimizer/update.h"

namespace headrace {
namespace {

struct SgdAttrs {
  double lr = 0.01, wd = 0, rescale_grad = 1, clip_gradient = -1;
  bool lazy_update = true;
  static constexpr auto kFields =
      fields(field(&SgdAttrs::lr, "lr", kLrDoc).required(), field(&SgdAttrs::wd, "wd", kWdDoc),
             field(&SgdAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&SgdAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&SgdAttrs::lazy_update, "lazy_update", kLazyDoc));
};

struct MomentumAttrs {
  double lr = 0.01, momentum = 0, wd = 0, rescale_grad = 1, clip_gradient = -1;
  bool lazy_update = true;
  static constexpr auto kFields =
      fields(field(&MomentumAttrs::lr, "lr", kLrDoc).required(),
             field(&MomentumAttrs::momentum, "momentum", "What is kept of the last step."),
             field(&MomentumAttrs::wd, "wd", kWdDoc), field(&MomentumAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&MomentumAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&MomentumAttrs::lazy_update, "lazy_update", kLazyDoc));
};

struct SignumAttrs {
  double lr = 0.01, momentum = 0, wd = 0, rescale_grad = 1, clip_gradient = -1, wd_lh = 0;
  static constexpr auto kFields =
      fields(field(&SignumAttrs::lr, "lr", kLrDoc).required(),
             field(&SignumAttrs::momentum, "momentum", "What is kept of the last step."),
             field(&SignumAttrs::wd, "wd", kWdDoc), field(&SignumAttrs::rescale_grad, "rescale_grad", kRescaleDoc),
             field(&SignumAttrs::clip_gradient, "clip_gradient", kClipDoc),
             field(&SignumAttrs::wd_lh, "wd_lh", "Weight decay applied to the weight itself."));
};

Expr sgd_step(Expr w, Expr g, Expr lr, Expr wd, Expr rescale, Expr clip) {
  return w - lr * (clipped(rescale * g, clip) + wd * w);
}

// {weight, momentum}
std::vector<Expr> momentum_step(Expr w, Expr g, Expr m, Expr lr, Expr momentum, Expr wd, Expr rescale, Expr clip) {
  Expr scaled = select(clip >= 0, lr * clipped(rescale * g, clip), lr * rescale * g);
  Expr step = momentum * m - lr * wd * w - scaled;
  return {w + step, step};
}

// The decay in the momentum sees the new weight, as in MXNet.
std::vector<Expr> nesterov_step(Expr w, Expr g, Expr m, Expr lr, Expr momentum, Expr wd, Expr rescale, Expr clip) {
  Expr kept = momentum * m, gradient = clipped(rescale * g, clip);
  Expr weight = w - kept + (momentum + 1) * (kept - lr * (gradient + wd * w));
  return {weight, kept - lr * (gradient + wd * weight)};
}

OpDef sgd() {
  auto spec =
      update_spec("sgd_update", "weight - lr * (clip(rescale_grad * grad) + wd * weight).", {"weight", "grad"}, {});
  spec.op.storage_forms = row_update_forms(2, LazyWhere::kAlike, [](const SgdAttrs& a) { return a.lazy_update; });
  spec.formula = [](Expr w, Expr g, Expr lr, Expr wd, Expr rescale, Expr clip) {
    return sgd_step(w, g, lr, wd, rescale, clip);
  };
  return pointwise<SgdAttrs>(std::move(spec));
}

OpDef mp_sgd() {
  auto spec = update_spec("mp_sgd_update", "sgd_update on the master copy weight32, from which weight is rounded.",
                          {"weight", "grad", "weight32"}, {2});
  spec.formula = [](Expr, Expr g, Expr w, Expr lr, Expr wd, Expr rescale, Expr clip) -> std::vector<Expr> {
    Expr weight = sgd_step(w, g, lr, wd, rescale, clip);
    return {weight, weight};
  };
  return pointwise<SgdAttrs>(std::move(spec));
}

using MomentumStep = std::vector<Expr> (*)(Expr, Expr, Expr, Expr, Expr, Expr, Expr, Expr);

OpDef with_momentum(const char* name, const char* doc, MomentumStep step, LazyWhere where) {
  auto spec = update_spec(name, doc, {"weight", "grad", "mom"}, {2});
  spec.op.storage_forms = row_update_forms(3, where, [](const MomentumAttrs& a) { return a.lazy_update; });
  spec.formula = [step](Expr w, Expr g, Expr m, Expr lr, Expr momentum, Expr wd, Expr rescale, Expr clip) {
    return step(w, g, m, lr, momentum, wd, rescale, clip);
  };
  return pointwise<MomentumAttrs>(std::move(spec));
}

OpDef mp_with_momentum(const char* name, const char* doc, MomentumStep step) {
  auto spec = update_spec(name, doc, {"weight", "grad", "mom", "weight32"}, {2, 3});
  spec.formula = [step](Expr, Expr g, Expr m, Expr w, Expr lr, Expr momentum, Expr wd, Expr rescale,
                        Expr clip) -> std::vector<Expr> {
    std::vector<Expr> next = step(w, g, m, lr, momentum, wd, rescale, clip);
    return {next[0], next[1], next[0]};
  };
  return pointwise<MomentumAttrs>(std::move(spec));
}

OpDef sign_sgd() {
  auto spec = update_spec("signsgd_update", "(1 - lr * wd) * weight - lr * sign(grad).", {"weight", "grad"}, {});
  spec.formula = [](Expr w, Expr g, Expr lr, Expr wd, Expr, Expr) {  // whatever its size is, the sign counts
    return (1 - lr * wd) * w - lr * sign(g);
  };
  return pointwise<SgdAttrs>(std::move(spec));
}

OpDef signum() {
  auto spec = update_spec("signum_update",
                          "mom = momentum * mom - (1 - momentum) * (wd * weight + clip(rescale_grad * grad)); weight = "
                          "(1 - lr * wd_lh) * weight + lr * sign(mom).",
                          {"weight", "grad", "mom"}, {2});
  spec.formula = [](Expr w, Expr g, Expr m, Expr lr, Expr momentum, Expr wd, Expr rescale, Expr clip,
                    Expr wd_lh) -> std::vector<Expr> {
    Expr next = momentum * m - (1 - momentum) * (wd * w + clipped(rescale * g, clip));
    return {(1 - lr * wd_lh) * w + lr * sign(next), next};
  };
  return pointwise<SignumAttrs>(std::move(spec));
}

}  // namespace

Operators sgd_operators() {
  Operators operators;
  const char* momentum_doc = "mom = momentum * mom - lr * wd * weight - lr * clip(rescale_grad * grad); weight += mom.";
  const char* nesterov_doc = "Nesterov's momentum: the step is taken from where the momentum leads.";
  operators.push_back(sgd());
  operators.push_back(mp_sgd());
  operators.push_back(with_momentum("sgd_mom_update", momentum_doc, momentum_step, LazyWhere::kAlike));
  operators.push_back(
      mp_with_momentum("mp_sgd_mom_update", "sgd_mom_update on the master copy weight32.", momentum_step));
  operators.push_back(with_momentum("nag_mom_update", nesterov_doc, nesterov_step, LazyWhere::kNowhere));
  operators.push_back(
      mp_with_momentum("mp_nag_mom_update", "nag_mom_update on the master copy weight32.", nesterov_step));
  operators.push_back(sign_sgd());
  operators.push_back(signum());
  return operators;
}

}  // namespace headrace
