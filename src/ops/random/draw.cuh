// Samples of any distribution, one stream of words for each.
#pragma once

#include <cstdint>

namespace headrace::device {

struct ParameterArrays {
  const void* arrays[2];  // null: a number
  double numbers[2];
};

struct DrawArguments {
  ParameterArrays parameters;
  void* to;
  int64_t count, per_set;
  uint64_t key;
};

// The first parameters of a block that a distribution does not have: their place, or -1, and their values.
struct WrongParameters {
  int64_t place;
  double values[2];
};

struct ParameterCheckArguments {
  ParameterArrays parameters;
  WrongParameters* found;  // of each block
  int64_t sets;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/first_wrong.cuh"
#include "op/formula/special_functions.cc"
#include "ops/random/samplers.h"
#include "ops/random/stream.cuh"

namespace headrace::device {

struct ParameterSet {
  double values[2];
};

template <class First, class Second>
inline ParameterSet parameter_set(const ParameterArrays& a, int64_t set) {
  return {{a.arrays[0] ? numeric_cast<double>(static_cast<const First*>(a.arrays[0])[set]) : a.numbers[0],
           a.arrays[1] ? numeric_cast<double>(static_cast<const Second*>(a.arrays[1])[set]) : a.numbers[1]}};
}

template <Distribution kKind, class Out, class First, class Second>
inline void draw_samples(const DrawArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const ParameterSet set = parameter_set<First, Second>(a.parameters, i / a.per_set);
    WordStream words(a.key, i);
    static_cast<Out*>(a.to)[i] = numeric_cast<Out>(samplers::draw(kKind, words, set.values));
  }
}

template <Distribution kKind, bool kAsNp, class First, class Second>
inline void find_wrong_parameters(const ParameterCheckArguments& a) {
  const int64_t first = first_wrong(a.sets, [&](int64_t k) {
    return !has_parameters(kKind, kAsNp, parameter_set<First, Second>(a.parameters, k).values);
  });
  if (threadIdx.x != 0) return;
  WrongParameters& found = a.found[blockIdx.x];
  found.place = first < a.sets ? first : -1;
  const ParameterSet set = parameter_set<First, Second>(a.parameters, first < a.sets ? first : 0);
  found.values[0] = set.values[0];
  found.values[1] = set.values[1];
}

}  // namespace headrace::device
#endif
