#include "ops/random/mersenne_fill.h"

#include <algorithm>
#include <mutex>

#include "ops/random/sampling.h"

namespace headrace {

template <class Real>
bool UniformTurns<Real>::take() {
  constexpr auto kWords = static_cast<int64_t>(sizeof(Real) / sizeof(uint32_t));
  alignas(64) uint32_t words[kValuesPerTurn * kWords];
  int64_t first, count;
  {
    std::lock_guard guard(lock_);
    first = taken_;
    count = std::min(kValuesPerTurn, n_ - first);
    if (count <= 0) return false;
    taken_ += count;
    stream_.fill(words, count * kWords);
  }
  uniforms_of_words(words, count, offset_, factor_, values_ + first);
  return true;
}

template <class Real>
bool NormalTurns<Real>::take() {
  using Points = PolarPoints<Real>;
  Points points;
  int64_t first, count;
  {
    alignas(64) uint32_t words[Points::kProposals * Points::kWords];
    std::lock_guard guard(lock_);
    if (points_left_ == 0) return false;
    // No proposal is made that a sampler of single values would not make.
    const int64_t proposals = std::min(points_left_, Points::kProposals);
    stream_.fill(words, proposals * Points::kWords);
    const int64_t found = points.accept(words, proposals);
    points_left_ -= found;
    first = taken_;
    count = std::min(of_both_ ? 2 * found : found, n_ - first);
    taken_ += count;
  }
  points.normals(of_both_, count, offset_, factor_, values_ + first);
  return true;
}

// Uniforms do not fall as their words grow.
Trials::Trials(float bound) : words_(0) {
  for (uint64_t step = uint64_t{1} << 32; step > 0; step /= 2) {
    if (words_ + step > uint64_t{1} << 32) continue;
    const auto last = [&] { return static_cast<uint32_t>(words_ + step - 1); };
    if (uniform01<float>(last) < bound) words_ += step;
  }
}

void Trials::draw(MersenneTwister& stream, int64_t n, uint8_t* successes) const {
  alignas(64) uint32_t words[kValuesPerTurn];
  for (int64_t first = 0; first < n; first += kValuesPerTurn) {
    const int64_t count = std::min(kValuesPerTurn, n - first);
    stream.fill(words, count);
    if (words_ == 0)
      std::fill_n(successes + first, count, uint8_t{0});
    else
      words_up_to(words, count, static_cast<uint32_t>(words_ - 1), successes + first);
  }
}

template class UniformTurns<float>;
template class UniformTurns<double>;
template class NormalTurns<float>;
template class NormalTurns<double>;

}  // namespace headrace
