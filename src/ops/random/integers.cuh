// Random integers, uniform or by weights, with a stream of words for each.
#pragma once

#include <cstdint>

namespace headrace::device {

struct IntegerArguments {
  void* to;
  int64_t count, low;
  uint64_t range, key;
};

// Probabilities of categories, row by row.
struct WeightArguments {
  const void* from;
  double* sums;  // running ones of each row
  int64_t rows, length;
};

// What a block has found of weights: the place of the first one that is none, or -1, what it is, and how many are above 0.
struct FoundWeights {
  int64_t place;
  double value;
  int64_t usable;
};

struct WeightCheckArguments {
  const void* from;
  FoundWeights* found;  // of each block
  int64_t count;
};

struct CategoryArguments {
  const double* sums;
  const void* weights;
  void* to;
  void* likelihoods;  // their logarithms; null: none are asked for
  int64_t count, per_row, length;
  uint64_t key;
};

struct TrialArguments {
  const double* sums;
  unsigned long long* counts;  // zeros so far
  int64_t samples, trials, length;
  uint64_t key;
};

struct KeyArguments {
  const void* weights;
  double* keys;
  int64_t count;
  uint64_t key;
};

struct CategoryGradientArguments {
  const void* head;
  const void* weights;
  const void* drawn;
  void* to;
  int64_t count, per_row, length;  // count: of weights
};

constexpr unsigned kWeightThreads = 256;  // of blocks that work on a row, as in op/device/group.cuh

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/first_wrong.cuh"
#include "ops/random/samplers.h"
#include "ops/random/stream.cuh"

namespace headrace::device {

template <class T>
inline void draw_integers(const IntegerArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    WordStream words(a.key, i);
    static_cast<T*>(a.to)[i] = static_cast<T>(a.low + static_cast<int64_t>(wide_word(words) % a.range));
  }
}

// Sums in the order of the elements, so that they have the bits of the host: a thread to a row.
template <class T>
inline void sum_short_rows(const WeightArguments& a) {
  for (int64_t row = first_of_thread(); row < a.rows; row += all_threads()) {
    double sum = 0;
    for (int64_t i = row * a.length; i < (row + 1) * a.length; ++i)
      a.sums[i] = sum += numeric_cast<double>(static_cast<const T*>(a.from)[i]);
  }
}

// A block to a row: it loads and stores, one thread adds.
template <class T>
inline void sum_long_rows(const WeightArguments& a) {
  __shared__ double tile[kBlockThreads];
  for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    double sum = 0;
    for (int64_t begin = 0; begin < a.length; begin += kBlockThreads) {
      const int64_t i = row * a.length + begin + threadIdx.x;
      const bool is_inside = begin + threadIdx.x < a.length;
      tile[threadIdx.x] = is_inside ? numeric_cast<double>(static_cast<const T*>(a.from)[i]) : 0.0;
      __syncthreads();
      if (threadIdx.x == 0)
#pragma unroll 16
        for (int k = 0; k < kBlockThreads; ++k) tile[k] = sum += tile[k];
      __syncthreads();
      if (is_inside) a.sums[i] = tile[threadIdx.x];
      __syncthreads();
    }
  }
}

template <class T>
inline void check_weights(const WeightCheckArguments& a) {
  const auto weight = [&](int64_t k) { return numeric_cast<double>(static_cast<const T*>(a.from)[k]); };
  int64_t usable = 0;
  const int64_t first = first_wrong(a.count, [&](int64_t k) {
    usable += weight(k) > 0 ? 1 : 0;
    return !(weight(k) >= 0);
  });
  usable = Group<kBlockThreads>::combined(usable, Plus());
  if (threadIdx.x == 0)
    a.found[blockIdx.x] = {first < a.count ? first : -1, first < a.count ? weight(first) : 0.0, usable};
}

// How many sums are below a value, or up to it; but not all.
template <bool kUpTo>
inline int64_t place_among(const double* sums, int64_t length, double value) {
  int64_t low = 0, high = length - 1;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (kUpTo ? sums[middle] <= value : sums[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class Out, class T, bool kUpTo>
inline void draw_categories(const CategoryArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t row = i / a.per_row * a.length;
    const double* const sums = a.sums + row;
    WordStream words(a.key, i);
    const int64_t place = place_among<kUpTo>(sums, a.length, uniform_below_sum<double>(words, sums[a.length - 1]));
    static_cast<Out*>(a.to)[i] = numeric_cast<Out>(place);
    if (a.likelihoods)
      static_cast<T*>(a.likelihoods)[i] = numeric_cast<T>(
          static_cast<float>(std::log(numeric_cast<double>(static_cast<const T*>(a.weights)[row + place]))));
  }
}

// Each experiment takes two words of the stream of its sample. Probabilities have at least 1 together.
inline void count_categories(const TrialArguments& a) {
  const double sum = a.sums[a.length - 1], total = sum < 1 ? 1.0 : sum;
  for (int64_t i = first_of_thread(); i < a.samples * a.trials; i += all_threads()) {
    const int64_t sample = i / a.trials;
    WordStream words(a.key, sample, i % a.trials * 2);
    const int64_t place = place_among<true>(a.sums, a.length, uniform_below_sum<double>(words, total));
    atomicAdd(a.counts + sample * a.length + place, 1ull);
  }
}

// Those of the largest keys are drawn.
template <class T>
inline void key_weights(const KeyArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    WordStream words(a.key, 0, 2 * i);
    const double weight = numeric_cast<double>(static_cast<const T*>(a.weights)[i]);
    a.keys[i] = -std::log(-std::log(uniform01<double>(words))) + std::log(weight);
  }
}

// Draws of a row that chose a category are added in their order.
template <class T, class Index>
inline void category_gradients(const CategoryGradientArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const int64_t row = i / a.length, category = i % a.length;
    const double weight = numeric_cast<double>(static_cast<const T*>(a.weights)[i]);
    double sum = 0;
    for (int64_t k = row * a.per_row; k < (row + 1) * a.per_row; ++k)
      if (numeric_cast<int64_t>(static_cast<const Index*>(a.drawn)[k]) == category)
        sum += numeric_cast<double>(static_cast<const T*>(a.head)[k]) / weight;
    static_cast<T*>(a.to)[i] = numeric_cast<T>(static_cast<float>(sum));
  }
}

}  // namespace headrace::device
#endif
