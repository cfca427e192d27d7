#include "ops/image/draws.h"

#include <numeric>
#include <utility>

#include "ops/random/sampling.h"

namespace headrace {

float Draws::between(float low, float high) { return uniform01<float>(engine_) * (high - low) + low; }

int64_t Draws::below(int64_t count) { return small_below(engine_, static_cast<uint32_t>(count)); }

float Draws::normal(float deviation) {
  if (!saved_) {
    const auto [first, second] = normal_pair<float>(engine_);
    saved_ = second;
    return first * deviation;
  }
  return *std::exchange(saved_, std::nullopt) * deviation;
}

bool Draws::coin() { return uniform01<double>(engine_) < 0.5; }

std::vector<size_t> Draws::order(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 1; i < count; ++i)
    std::swap(order[i], order[static_cast<size_t>(below(static_cast<int64_t>(i) + 1))]);
  return order;
}

}  // namespace headrace
