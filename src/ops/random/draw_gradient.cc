#include "ops/random/draw_gradient.h"

#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace {
namespace {

// head * moved / scale; nothing where the scale is 0.
NDArray along_scale(const Gradient& g, const NDArray& moved, const NDArray& scale) {
  const NDArray none = full({}, 0, scale.dtype(), scale.device());
  return g.head() * call("_npi_where", {scale, moved / scale, none});
}

// Samples x = location + scale * z.
void of_location_and_scale(Gradient& g) {
  g.set(0, g.head());
  if (g.wants(1)) g.set(1, along_scale(g, g.output() - g.input(0), g.input(1)));
}

// Samples x = expm1(z / a): -log1p(x) * (1 + x) / a.
NDArray of_pareto(const Gradient& g) {
  const NDArray above = g.output() + 1.0;
  return -(g.head() * (above * call("_npi_log1p", {g.output()})) / g.input(0));
}

// Samples x = z ** (1 / a): -x * log(x) / a, whose limit at 0 is 0.
NDArray of_weibull(const Gradient& g) {
  const NDArray& x = g.output();
  const NDArray slope = call("_npi_where", {x, x * call("_npi_log", {x}), x});
  return -(g.head() * slope / g.input(0));
}

}  // namespace

void gradient_of_draw(Gradient& g, Distribution kind) {
  switch (kind) {
    case Distribution::kGumbel:
    case Distribution::kLaplace:
    case Distribution::kLogistic:
      return of_location_and_scale(g);
    case Distribution::kRayleigh:
      return g.set(0, along_scale(g, g.output(), g.input(0)));
    case Distribution::kPareto:
      return g.set(0, of_pareto(g));
    case Distribution::kWeibull:
      return g.set(0, of_weibull(g));
    default:
      return;
  }
}

}  // namespace headrace
