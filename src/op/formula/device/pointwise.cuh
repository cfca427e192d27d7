// How the kernel of a formula goes over its operands. The source that is made for a formula (op/formula/source_cuda.h)
// has a struct of it:
//
//   struct Formula {
//     using Compute = float;                          // what it computes in
//     static constexpr int kInputs, kOperands;        // operands: inputs, then outputs
//     template <int k> using Element = ...;           // of operand k in memory
//     static void run(const Compute* parameters, Compute* values);  // one value of each operand
//   };
//
// and a __global__ function that calls one of the two below.
#pragma once

#include "op/device/grid.cuh"
#include "op/device/pack.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

// What a kernel is given. `extents` and `strides` are those of an Iteration (op/formula/iteration.h).
template <class Compute, int kOperands, int kParameters, int kDims>
struct Arguments {
  int64_t count;
  void* data[kOperands];
  int64_t extents[kDims];
  int64_t strides[kOperands * kDims];
  Compute parameters[kParameters > 0 ? kParameters : 1];
};

// Calls f with the numbers from `first` to `last` - 1 as constants.
template <int first, int last, class F>
inline void for_each_number(const F& f) {
  if constexpr (first < last) {
    f.template operator()<first>();
    for_each_number<first + 1, last>(f);
  }
}

// Operands of one shape without gaps, kWidth elements at a time; what is left over at the end goes one by one.
template <class Formula, int kWidth, class A>
inline void run_packed(const A& a) {
  using Compute = typename Formula::Compute;
  const int64_t first = first_of_thread(), packs = a.count / kWidth;
  for (int64_t pack = first; pack < packs; pack += all_threads()) {
    Compute values[kWidth][Formula::kOperands];
    for_each_number<0, Formula::kInputs>([&]<int k>() {
      using Element = typename Formula::template Element<k>;
      const auto loaded = static_cast<const Pack<Element, kWidth>*>(a.data[k])[pack];
      for (int i = 0; i < kWidth; ++i) values[i][k] = numeric_cast<Compute>(loaded.elements[i]);
    });
    for (int i = 0; i < kWidth; ++i) Formula::run(a.parameters, values[i]);
    for_each_number<Formula::kInputs, Formula::kOperands>([&]<int k>() {
      using Element = typename Formula::template Element<k>;
      Pack<Element, kWidth> stored;
      for (int i = 0; i < kWidth; ++i) stored.elements[i] = numeric_cast<Element>(values[i][k]);
      static_cast<Pack<Element, kWidth>*>(a.data[k])[pack] = stored;
    });
  }
  for (int64_t i = packs * kWidth + first; i < a.count; i += all_threads()) {
    Compute values[Formula::kOperands];
    for_each_number<0, Formula::kInputs>([&]<int k>() {
      values[k] = numeric_cast<Compute>(static_cast<const typename Formula::template Element<k>*>(a.data[k])[i]);
    });
    Formula::run(a.parameters, values);
    for_each_number<Formula::kInputs, Formula::kOperands>([&]<int k>() {
      using Element = typename Formula::template Element<k>;
      static_cast<Element*>(a.data[k])[i] = numeric_cast<Element>(values[k]);
    });
  }
}

// Operands with strides of their own along each dimension, element by element. Index, unsigned, counts all of them:
// to divide numbers of 64 bits takes a GPU five times as long as those of 32.
template <class Formula, int kDims, class Index, class A>
inline void run_strided(const A& a) {
  using Compute = typename Formula::Compute;
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    int64_t offsets[Formula::kOperands] = {};
    auto rest = static_cast<Index>(i);
    for (int d = kDims - 1; d >= 0; --d) {
      const auto extent = static_cast<Index>(a.extents[d]);
      const Index place = d > 0 ? rest % extent : rest;
      rest = d > 0 ? rest / extent : 0;
      for (int k = 0; k < Formula::kOperands; ++k)
        offsets[k] += static_cast<int64_t>(place) * a.strides[k * kDims + d];
    }
    Compute values[Formula::kOperands];
    for_each_number<0, Formula::kInputs>([&]<int k>() {
      values[k] =
          numeric_cast<Compute>(static_cast<const typename Formula::template Element<k>*>(a.data[k])[offsets[k]]);
    });
    Formula::run(a.parameters, values);
    for_each_number<Formula::kInputs, Formula::kOperands>([&]<int k>() {
      using Element = typename Formula::template Element<k>;
      static_cast<Element*>(a.data[k])[offsets[k]] = numeric_cast<Element>(values[k]);
    });
  }
}

}  // namespace headrace::device
