// A row that a group of threads goes through more than once.
#pragma once

#include "op/device/group.cuh"

namespace headrace::device {

// Each thread of a group sees every kThreads-th of n elements. With kHeld > 0, which takes n <= kHeld * kThreads, it
// reads them once, all together, and holds them in registers; otherwise at(i) is asked for each time.
template <class Threads, int kHeld, class Value, class At>
class Row {
 public:
  Row(int64_t n, const At& at) : n_(n), at_(at) {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
        if (place(k) < n) values_[k] = at(place(k));
    }
  }

  // Makes elements f of themselves; only of what is held.
  template <class F>
  void change(const F& f) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k) values_[k] = f(values_[k]);
  }

  // Calls f(i, element i).
  template <class F>
  void each(const F& f) const {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k)
        if (place(k) < n_) f(place(k), values_[k]);
    } else {
      for (int64_t i = Threads::lane(); i < n_; i += Threads::kThreads) f(i, at_(i));
    }
  }

 private:
  static int64_t place(int k) { return Threads::lane() + k * int64_t{Threads::kThreads}; }

  const int64_t n_;
  const At at_;
  Value values_[kHeld > 0 ? kHeld : 1];
};

}  // namespace headrace::device
