// How much each neighbour counts for a value between them, as OpenCV weighs them.
#pragma once

#include "ops/image/scale.h"

namespace headrace {

inline constexpr int kMostTaps = 8;

// How many neighbours along one axis; areas count as linear.
constexpr int tap_count(Interpolation interpolation) noexcept {
  return interpolation == Interpolation::kCubic ? 4 : interpolation == Interpolation::kLanczos ? 8 : 2;
}

// The weights of `count` (2, 4 or 8) neighbours, for a value `place`, from 0 to 1, behind the one of number
// count / 2 - 1.
void tap_weights(int count, float place, float* weights);

}  // namespace headrace
