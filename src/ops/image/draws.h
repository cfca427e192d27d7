// The random numbers of one image, from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/random/mersenne_twister.h"

namespace headrace {

// Random numbers from mt19937, by the distributions of ops/random/sampling.h: a seed gives the same image
// everywhere, and those numbers that MXNet's augmenters draw from a generator of that seed.
class Draws {
 public:
  explicit Draws(uint32_t seed) : engine_(seed) {}
  float between(float low, float high);  // uniform
  int64_t below(int64_t count);          // a whole number from 0 to count - 1; count is below 2^32
  float normal(float deviation);
  bool coin();
  // The numbers from 0 to count - 1 in random order; count is below 2^32.
  std::vector<size_t> order(size_t count);

 private:
  MersenneTwister engine_;
  std::optional<float> saved_ = {};  // the second of a pair of normals
};

}  // namespace headrace
