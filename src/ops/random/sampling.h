// Sampling: runs a sampler for every element of a result, with the stream of random words that belongs to the element.
#pragma once

#include <limits>

#include "backend/cpu/parallel.h"
#include "op/kernel.h"
#include "ops/random/generator.h"
#include "ops/random/mersenne_fill.h"
#include "ops/random/philox.h"
#include "ops/random/philox_fill.h"
#include "ops/random/samplers.h"

namespace headrace {

// Calls use(state, first, end) for the runs of elements of [0, n) that MXNet's parallel states of mt19937 fill, by
// several threads: k = min(1024, ceil(n/64)) states fill ceil(n/k) elements each.
template <class Use>
void for_each_run(int64_t n, double ns_per_sample, const Use& use) {
  if (n == 0) return;
  MtStates& states = generators().states(Streams::kParallel);
  const int64_t count = std::min(kMaxParallelStates, (n + kSamplesPerState - 1) / kSamplesPerState);
  const int64_t run = (n + count - 1) / count;
  for (int64_t k = 0; k < count; ++k) states.at(static_cast<size_t>(k));  // made before they are used in parallel
  parallel_for(count, 1, static_cast<double>(n) * ns_per_sample, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end && k * run < n; ++k)
      use(states.at(static_cast<size_t>(k)), k * run, std::min(n, (k + 1) * run));
  });
}

// Calls sampler(stream, i) for i in [begin, end), with the streams of philox. Most samplers draw at most 4 * kBlocks
// words, which are made for many elements at a time.
template <size_t kBlocks, class Sampler>
void sample_by_philox(uint64_t key, int64_t begin, int64_t end, const Sampler& sampler) {
  constexpr size_t kStride = 4 * kPhiloxBlocks;
  uint32_t words[kBlocks * kStride];
  for (int64_t i = begin; i < end;) {
    const int64_t first = i / kPhiloxBlocks * kPhiloxBlocks;
    for (size_t b = 0; b < kBlocks; ++b)
      philox_blocks(key, static_cast<uint64_t>(first), PhiloxStream::kFirstBlock + b, words + b * kStride);
    for (; i < std::min(end, first + kPhiloxBlocks); ++i) {
      PhiloxStream stream(key, static_cast<uint64_t>(i), words + 4 * (i - first), kBlocks, kStride);
      sampler(stream, i);
    }
  }
}

// Calls sampler(stream, i) for i in [0, n); a stream is called for 32-bit words. Streams of mt19937 are used as MXNet
// does. `kBlocks`: for sample_by_philox. `words`: how many words of mt19937 each sample takes; 0: not all as many.
template <size_t kBlocks = 1, class Sampler>
void for_each_sample(const KernelContext& context, Streams streams, int64_t n, double ns_per_sample,
                     const Sampler& sampler, int64_t words = 0) {
  if (context.ticket() != kMtTicket) {
    parallel_for(n, 256, static_cast<double>(n) * ns_per_sample,
                 [&](int64_t begin, int64_t end) { sample_by_philox<kBlocks>(context.ticket(), begin, end, sampler); });
    return;
  }
  const auto draw = [&](MersenneTwister& state, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sampler(state, i);
  };
  if (streams == Streams::kParallel) return for_each_run(n, ns_per_sample, draw);
  MersenneTwister& state = generators().states(streams).at(0);
  if (words == 0) return draw(state, 0, n);
  EvenTurns turns(state, n, words);
  take_turns(n, turns.values_per_turn(), static_cast<double>(n) * ns_per_sample, [&] {
    return turns.take(
        [&](MersenneTwister& stream, int64_t first, int64_t count) { draw(stream, first, first + count); });
  });
}

// Calls use(stream) with the one stream of an operation that draws step after step, of Streams::kSequential.
template <class Use>
void with_stream(const KernelContext& c, const Use& use) {
  if (c.ticket() == kMtTicket) {
    use(generators().states(Streams::kSequential).at(0));
  } else {
    PhiloxStream stream(c.ticket(), 0);
    use(stream);
  }
}

// --- what generators differ in ---------------------------------------------------------------------------------------

// mt19937 gives MXNet's numbers, which floats of single words decide; philox has more bits to decide by.
template <class Stream>
inline constexpr bool kAsMxnet = !std::is_same_v<Stream, PhiloxStream>;
template <class Stream>
using Decider = std::conditional_t<kAsMxnet<Stream>, float, double>;

// An integer in [0, bound) from one word, as MXNet's build draws it; the largest words are refused, so that all results
// are as likely.
template <class Stream>
uint32_t small_below(Stream& stream, uint32_t bound) {
  const uint32_t share = std::numeric_limits<uint32_t>::max() / bound;
  uint32_t word;
  do word = static_cast<uint32_t>(stream());
  while (word >= share * bound);
  return word / share;
}

}  // namespace headrace
