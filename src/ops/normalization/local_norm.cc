// Normalisation without parameters: by the length of vectors, and by the neighbouring channels.
#include "ops/normalization/local_norm.h"

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct L2Attrs {
  double eps = 1e-10;
  std::string mode = "instance";
  static constexpr auto kFields =
      fields(field(&L2Attrs::eps, "eps", "Added to the sum of squares."),
             field(&L2Attrs::mode, "mode",
                   "What is a vector: all of an instance, the channels (axis 1) of a place, "
                   "or the places of a channel.")
                 .one_of("channel|instance|spatial"));
};

std::vector<NDArray> l2_normalization(std::span<const NDArray> in, const L2Attrs& a) {
  const NDArray& x = in[0];
  const size_t least = a.mode == "instance" ? 1 : a.mode == "channel" ? 2 : 3;
  check(x.ndim() >= least, ErrorKind::kRuntime, "L2Normalization: mode {} needs at least {} dimensions, got shape {}",
        a.mode, least, to_string(x.shape()));
  check(is_floating(x.dtype()), ErrorKind::kType, "L2Normalization: data must hold floats, got {}; convert with astype",
        dtype_name(x.dtype()));
  Shape axes;
  if (a.mode == "channel") axes.push_back(1);
  for (size_t k = a.mode == "instance" ? 1 : 2; k < x.ndim() && a.mode != "channel"; ++k)
    axes.push_back(static_cast<int64_t>(k));
  NDArray squares = call("square", {x});
  if (!axes.empty()) squares = call("sum", {squares}, {{"axis", axes}, {"keepdims", true}});
  NDArray scale = call("rsqrt", {squares + a.eps});
  return {x * scale};
}

OpDef l2() {
  using A = L2Attrs;
  return general<A>({.name = "L2Normalization",
                     .python = {"nd.L2Normalization"},
                     .doc =
                         "x / sqrt(sum(x^2) + eps), the sum being over the vector that `mode` says. Raises MXNetError "
                         "for too few dimensions.",
                     .counted_outputs = always(2),
                     .complete = keep_shape,
                     .compose = l2_normalization,
                     .samples = {uniform({2, 3, 2}), Sample({uniform({2, 3, 2})}, make_attrs(A{.mode = "channel"})),
                                 Sample({uniform({2, 3, 2})}, make_attrs(A{.mode = "spatial"}))}});
}

struct LrnAttrs {
  double alpha = 1e-4, beta = 0.75, knorm = 2;
  int64_t nsize = 0;
  static constexpr auto kFields =
      fields(field(&LrnAttrs::alpha, "alpha", "Weight of the mean of the squares."),
             field(&LrnAttrs::beta, "beta", "Exponent."), field(&LrnAttrs::knorm, "knorm", "Added to the mean."),
             field(&LrnAttrs::nsize, "nsize", "Number of neighbouring channels, odd.").required());
};

struct WindowAttrs {
  int64_t nsize = 1;
  static constexpr auto kFields =
      fields(field(&WindowAttrs::nsize, "nsize", "Number of channels in the window; an even one counts one less."));
};

// Its matrix is symmetric, so that it is its own gradient.
OpDef window() {
  using A = WindowAttrs;
  return general<A>({.name = "_channel_window_sum",
                     .doc = "Sums over the channels (axis 1) in a window around each channel.",
                     .infer =
                         [](Infer& i, const A&) {
                           i.require(i.shape(0).size() >= 2 && is_floating(i.dtype(0)), ErrorKind::kRuntime,
                                     "data must hold floats and have at least 2 dimensions, got {} of shape {}",
                                     dtype_name(i.dtype(0)), to_string(i.shape(0)));
                           i.output(i.shape(0), i.dtype(0));
                         },
                     .kernel = [](KernelContext& c, const A& a) { sum_channel_windows(c, (a.nsize - 1) / 2); },
                     .gradient = [](Gradient& g, const A&) { g.set(0, call(g.op(), g.attrs(), {g.head()})); },
                     .saves_inputs = kNothing,
                     .samples = {Sample({uniform({2, 5, 2})}, make_attrs(A{.nsize = 3}))}});
}

OpDef lrn() {
  using A = LrnAttrs;
  return general<A>(
      {.name = "LRN",
       .python = {"nd.LRN"},
       .doc =
           "Local response normalisation: x / (knorm + alpha / nsize * s)^beta, s being the sum of the squares of the "
           "nsize channels (axis 1) around each, nsize - 1 for an even one. Raises ValueError for an nsize below 1.",
       .counted_outputs = always(2),
       .complete = keep_shape,
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         const NDArray& x = in[0];
         check(a.nsize > 0, ErrorKind::kValue, "LRN: nsize must be positive, got {}", a.nsize);
         check(x.ndim() >= 2, ErrorKind::kRuntime, "LRN: data must have at least 2 dimensions, got shape {}",
               to_string(x.shape()));
         check(is_floating(x.dtype()), ErrorKind::kType, "LRN: data must hold floats, got {}; convert it with astype",
               dtype_name(x.dtype()));
         NDArray sums = call("_channel_window_sum", {call("square", {x})}, {{"nsize", a.nsize}});
         NDArray mean = sums * (a.alpha / static_cast<double>(a.nsize));
         NDArray base = mean + a.knorm;
         return {x * call("_power_scalar", {base}, {{"scalar", -a.beta}})};
       },
       .samples = {Sample({uniform({2, 5, 2})}, make_attrs(A{.alpha = 0.1, .nsize = 3}))}});
}

}  // namespace

Operators local_norm_operators() { return {l2(), lrn(), window()}; }

}  // namespace headrace
