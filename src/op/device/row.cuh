// A row that a group of threads goes through more than once.
#pragma once

#include "op/device/group.cuh"
#include "op/device/pack.cuh"

namespace headrace::device {

// Elements of a row in memory. With kPack > 1 they lie side by side, packs of them at multiples of a pack's size, and
// are loaded and stored a pack at a time.
template <class T, int kPack>
struct RowElements {
  T* data;
  int64_t stride;

  T& operator[](int64_t i) const { return data[i * stride]; }

  // Element i and those behind it, i a multiple of kPack, as what is computed in.
  template <class Value>
  void load(int64_t i, Value (&values)[kPack]) const {
    if constexpr (kPack == 1) {
      values[0] = numeric_cast<Value>(data[i * stride]);
    } else {
      const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(data + i);
#pragma unroll
      for (int j = 0; j < kPack; ++j) values[j] = numeric_cast<Value>(pack.elements[j]);
    }
  }

  // Makes them value_of(0), value_of(1), ...
  template <class ValueOf>
  void store(int64_t i, const ValueOf& value_of) const {
    if constexpr (kPack == 1) {
      data[i * stride] = numeric_cast<T>(value_of(0));
    } else {
      Pack<T, kPack> pack;
#pragma unroll
      for (int j = 0; j < kPack; ++j) pack.elements[j] = numeric_cast<T>(value_of(j));
      *reinterpret_cast<Pack<T, kPack>*>(data + i) = pack;
    }
  }
};

// Each thread of a group sees every kThreads-th pack of n elements, a multiple of kPack. With kHeld > 0, which takes
// n <= kHeld * kThreads, it loads them once, all together, and holds them in registers; otherwise load(i, values), which
// gives element i and those behind it, is called each time.
template <class Threads, int kHeld, int kPack, class Value, class Load>
class Row {
  static constexpr int kPacks = (kHeld + kPack - 1) / kPack;

 public:
  Row(int64_t n, const Load& load) : n_(n), load_(load) {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int k = 0; k < kPacks; ++k)
        if (place(k) < n) load(place(k), values_[k]);
    }
  }

  // Makes elements f of themselves; only of what is held.
  template <class F>
  void change(const F& f) {
#pragma unroll
    for (int k = 0; k < kPacks; ++k)
#pragma unroll
      for (int j = 0; j < kPack; ++j) values_[k][j] = f(values_[k][j]);
  }

  // Calls f(i, element i and those behind it) for each pack.
  template <class F>
  void each_pack(const F& f) const {
    if constexpr (kHeld > 0) {
#pragma unroll
      for (int k = 0; k < kPacks; ++k)
        if (place(k) < n_) f(place(k), values_[k]);
    } else {
      for (int64_t i = place(0); i < n_; i += Threads::kThreads * kPack) {
        Value values[kPack];
        load_(i, values);
        f(i, values);
      }
    }
  }

  // Calls f(element) for each.
  template <class F>
  void each(const F& f) const {
    each_pack([&](int64_t, const Value(&values)[kPack]) {
#pragma unroll
      for (int j = 0; j < kPack; ++j) f(values[j]);
    });
  }

 private:
  static int64_t place(int k) { return (Threads::lane() + k * int64_t{Threads::kThreads}) * kPack; }

  const int64_t n_;
  const Load load_;
  Value values_[kHeld > 0 ? kPacks : 1][kPack];
};

}  // namespace headrace::device
