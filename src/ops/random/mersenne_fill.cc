#include "ops/random/mersenne_fill.h"

#include <algorithm>
#include <mutex>

#include "backend/cpu/parallel.h"
#include "ops/random/sampling.h"

namespace headrace {

namespace {

constexpr int64_t kChunk = 2048;  // values whose words are made at a time

}  // namespace

void take_turns(int64_t n, int64_t values_per_turn, double total_cost_ns, FunctionRef<int64_t()> take) {
  constexpr int64_t kMostThreads = 4;  // more would only wait
  const int64_t turns = (n + values_per_turn - 1) / values_per_turn;
  parallel_for(turns, (turns + kMostThreads - 1) / kMostThreads, total_cost_ns, [&](int64_t begin, int64_t end) {
    int64_t made;
    for (int64_t left = (end - begin) * values_per_turn; left > 0; left -= made)
      if (made = take(); made == 0) return;
  });
  while (take() > 0) {
  }
}

// A thread alone draws from the stream; one of several leaves it to the others as soon as they can go on.
int64_t EvenTurns::take(FunctionRef<void(MersenneTwister&, int64_t, int64_t)> draw) {
  std::unique_lock lock(lock_, std::try_to_lock);
  if (!lock) {
    is_shared_.store(true, std::memory_order_relaxed);
    lock.lock();
  }
  const bool is_shared = is_shared_.load(std::memory_order_relaxed);
  const int64_t most = is_shared ? values_per_turn() : std::max<int64_t>(1, kChunk / words_);
  const int64_t first = taken_, count = std::min(most, n_ - first);
  if (count <= 0) return 0;
  taken_ += count;
  if (is_shared) {
    MersenneTwister mine = stream_;
    stream_.discard(count * words_);
    lock.unlock();
    draw(mine, first, count);
  } else {
    draw(stream_, first, count);
  }
  return count;
}

template <class Real>
int64_t UniformTurns<Real>::take() {
  return turns_.take([this](MersenneTwister& stream, int64_t first, int64_t count) {
    alignas(64) uint32_t words[kChunk * kWords];
    for (int64_t end = first + count; first < end; first += kChunk) {
      const int64_t n = std::min(kChunk, end - first);
      stream.fill(words, n * kWords);
      uniforms_of_words(words, n, offset_, factor_, values_ + first);
    }
  });
}

template <class Real>
int64_t NormalTurns<Real>::take() {
  using Points = PolarPoints<Real>;
  Points points;
  int64_t first, count;
  {
    alignas(64) uint32_t words[Points::kProposals * Points::kWords];
    std::lock_guard guard(lock_);
    if (points_left_ == 0) return 0;
    int64_t found;
    do {
      // No proposal is made that a sampler of single values would not make.
      const int64_t proposals = std::min(points_left_, Points::kProposals);
      stream_.fill(words, proposals * Points::kWords);
      found = points.accept(words, proposals);
    } while (found == 0);
    points_left_ -= found;
    first = taken_;
    count = std::min(of_both_ ? 2 * found : found, n_ - first);
    taken_ += count;
  }
  points.normals(of_both_, count, offset_, factor_, values_ + first);
  return count;
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
  alignas(64) uint32_t words[kChunk];
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t count = std::min(kChunk, n - first);
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
