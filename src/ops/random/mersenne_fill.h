// Uniforms and normals of mt19937 in bulk, as the samplers of ops/random/sampling.h draw them one by one.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/function_ref.h"
#include "base/spin_lock.h"
#include "ops/random/mersenne_kernels.h"
#include "ops/random/mersenne_twister.h"

namespace headrace {

// The classes below draw many values in turns, which several threads may take: whose turn it is moves the stream on,
// which is quick, and what it took becomes values beside the other threads. take() takes a turn and returns how many
// values it made: 0 when all are taken.

// Takes turns by several threads until all n values are taken.
void take_turns(int64_t n, int64_t values_per_turn, double total_cost_ns, FunctionRef<int64_t()> take);

// n values of `words` words each.
class EvenTurns {
 public:
  EvenTurns(MersenneTwister& stream, int64_t n, int64_t words) noexcept : stream_(stream), n_(n), words_(words) {}

  int64_t values_per_turn() const noexcept { return std::max<int64_t>(1, 32768 / words_); }
  // draw(stream, first, count) makes `count` values from number `first` on.
  int64_t take(FunctionRef<void(MersenneTwister&, int64_t first, int64_t count)> draw);

 private:
  MersenneTwister& stream_;
  const int64_t n_, words_;
  std::atomic<bool> is_shared_ = false;  // a thread has waited for its turn
  SpinLock lock_;
  int64_t taken_ = 0;  // with stream_, guarded by lock_
};

// values[i] = offset + factor * u, u uniform in [0, 1).
template <class Real>
class UniformTurns {
 public:
  UniformTurns(MersenneTwister& stream, Real* values, int64_t n, Real offset, Real factor) noexcept
      : turns_(stream, n, kWords), values_(values), offset_(offset), factor_(factor) {}

  int64_t values_per_turn() const noexcept { return turns_.values_per_turn(); }
  int64_t take();
  void take_all() {
    while (take() > 0) {
    }
  }

 private:
  static constexpr auto kWords = static_cast<int64_t>(sizeof(Real) / sizeof(uint32_t));

  EvenTurns turns_;
  Real* const values_;
  const Real offset_, factor_;
};

// values[i] = offset + factor * v, v normal. Marsaglia's polar method makes normals in pairs.
template <class Real>
class NormalTurns {
 public:
  enum class Use : uint8_t { kFirstOfPair, kBothOfPair };

  NormalTurns(MersenneTwister& stream, Use use, Real* values, int64_t n, Real offset, Real factor) noexcept
      : stream_(stream),
        of_both_(use == Use::kBothOfPair),
        values_(values),
        n_(n),
        offset_(offset),
        factor_(factor),
        points_left_(of_both_ ? (n + 1) / 2 : n) {}

  int64_t values_per_turn() const noexcept { return PolarPoints<Real>::kProposals; }  // about
  int64_t take();
  void take_all() {
    while (take() > 0) {
    }
  }

 private:
  MersenneTwister& stream_;
  const bool of_both_;
  Real* const values_;
  const int64_t n_;
  const Real offset_, factor_;
  SpinLock lock_;
  int64_t points_left_, taken_ = 0;  // with stream_, guarded by lock_; taken_ counts values
};

// Trials that succeed where a uniform float in [0, 1) is below a bound.
class Trials {
 public:
  explicit Trials(float bound);
  bool succeeds(uint32_t word) const noexcept { return word < words_; }
  // successes[i] = 1 or 0, by n words of the stream.
  void draw(MersenneTwister& stream, int64_t n, uint8_t* successes) const;

 private:
  uint64_t words_;  // as many of the 2^32 words, the first ones, are successes
};

}  // namespace headrace
