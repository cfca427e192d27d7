#include "ops/image/weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headrace {
namespace {

void linear_weights(float place, float* weights) {
  weights[0] = 1 - place;
  weights[1] = place;
}

void cubic_weights(float x, float* weights) {
  constexpr float kA = -0.75f;
  weights[0] = ((kA * (x + 1) - 5 * kA) * (x + 1) + 8 * kA) * (x + 1) - 4 * kA;
  weights[1] = ((kA + 2) * x - (kA + 3)) * x * x + 1;
  weights[2] = ((kA + 2) * (1 - x) - (kA + 3)) * (1 - x) * (1 - x) + 1;
  weights[3] = 1 - weights[0] - weights[1] - weights[2];
}

void lanczos_weights(float x, float* weights) {
  constexpr double kQuarter = std::numbers::pi / 4, kDiagonal = 0.70710678118654752440;
  constexpr double kTurns[8][2] = {{1, 0},  {-kDiagonal, -kDiagonal}, {0, 1},  {kDiagonal, -kDiagonal},
                                   {-1, 0}, {kDiagonal, kDiagonal},   {0, -1}, {-kDiagonal, kDiagonal}};
  if (x < 1.1920929e-07f) {
    std::fill_n(weights, 8, 0.0f);
    weights[3] = 1;
    return;
  }
  float sum = 0;
  const double y0 = -(x + 3) * kQuarter, sine = std::sin(y0), cosine = std::cos(y0);
  for (int i = 0; i < 8; ++i) {
    const double y = -(x + 3 - static_cast<float>(i)) * kQuarter;
    weights[i] = static_cast<float>((kTurns[i][0] * sine + kTurns[i][1] * cosine) / (y * y));
    sum += weights[i];
  }
  for (int i = 0; i < 8; ++i) weights[i] *= 1 / sum;
}

}  // namespace

void tap_weights(int count, float place, float* weights) {
  if (count == 2) linear_weights(place, weights);
  if (count == 4) cubic_weights(place, weights);
  if (count == 8) lanczos_weights(place, weights);
}

}  // namespace headrace
