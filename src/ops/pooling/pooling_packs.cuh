// Pooling of images whose channels lie side by side: each thread has a pack of neighbouring channels of a place, which
// it loads at once. As in pooling.cuh otherwise. There are fewer than 2^31 packs.
#pragma once

#include "ops/pooling/pooling.cuh"

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/pack.cuh"

namespace headrace::device {

inline int64_t offset_of_pack(const ImageStrides& strides, uint32_t image, uint32_t channel, const Place& x) {
  return image * strides.first + offset_of(x, strides.place) + channel;
}

template <int kPack, class T>
inline Pack<T, kPack> load_pack(const T* data, int64_t offset) {
  return *reinterpret_cast<const Pack<T, kPack>*>(data + offset);
}

template <int kPack, class T>
inline void store_pack(T* data, int64_t offset, const Pack<T, kPack>& pack) {
  *reinterpret_cast<Pack<T, kPack>*>(data + offset) = pack;
}

// Calls f(image, first channel, place) for each pack of each place of images of `extents`.
template <int kPack, class F>
inline void for_each_pack(const PoolingArguments& a, const int64_t* extents, const F& f) {
  const auto packs = static_cast<uint32_t>(a.channels / kPack), rows = static_cast<uint32_t>(extents[1]),
             columns = static_cast<uint32_t>(extents[2]), slices = static_cast<uint32_t>(extents[0]);
  const auto count = static_cast<uint32_t>(a.images) * slices * rows * columns * packs;
  for (auto i = static_cast<uint32_t>(first_of_thread()); i < count; i += static_cast<uint32_t>(all_threads())) {
    const uint32_t place = i / packs, row = place / columns, slice = row / rows;
    f(slice / slices, i % packs * kPack, Place{{slice % slices, row % rows, place % columns}});
  }
}

// What is largest in a window, of each channel; see Pooled::largest().
template <class T, int kPack>
struct LargestOfPack {
  T best[kPack];
  int32_t numbers[kPack];  // of the elements in their plane; -1: there is none
  bool found = false;

  LargestOfPack(const PoolingArguments& a, uint32_t image, uint32_t channel, const Place& y) {
    for (int j = 0; j < kPack; ++j) numbers[j] = -1;
    const int64_t* const in = a.window.data;
    for_elements(stand_at(a, y), [&](const Place& x) {
      const auto pack = load_pack<kPack>(static_cast<const T*>(a.data), offset_of_pack(a.data_strides, image, channel, x));
      const auto number = static_cast<int32_t>((x.at[0] * in[1] + x.at[1]) * in[2] + x.at[2]);
#pragma unroll
      for (int j = 0; j < kPack; ++j) {
        const T one = pack.elements[j];
        if (found && !(one > best[j]) && best[j] == best[j]) continue;
        best[j] = one;
        numbers[j] = number;
      }
      found = true;
    });
  }
};

template <class T, PoolKind kKind, int kPack>
inline void pool_packed(const PoolingArguments& a) {
  using Sum = std::conditional_t<is_real<T>, double, int64_t>;
  const T* const data = static_cast<const T*>(a.data);
  for_each_pack<kPack>(a, a.window.out, [&](uint32_t image, uint32_t channel, const Place& y) {
    Pack<T, kPack> made;
    if constexpr (kKind == PoolKind::kMax) {
      const LargestOfPack<T, kPack> largest(a, image, channel, y);
      for (int j = 0; j < kPack; ++j) made.elements[j] = largest.found ? largest.best[j] : numeric_cast<T>(a.least);
    } else {
      const Stand stand = stand_at(a, y);
      Sum sums[kPack] = {};
      for_elements(stand, [&](const Place& x) {
        const auto pack = load_pack<kPack>(data, offset_of_pack(a.data_strides, image, channel, x));
#pragma unroll
        for (int j = 0; j < kPack; ++j) sums[j] += numeric_cast<Sum>(pack.elements[j]);
      });
      for (int j = 0; j < kPack; ++j)
        made.elements[j] =
            numeric_cast<T>(kKind == PoolKind::kSum ? sums[j] : sums[j] / static_cast<Sum>(stand.counted));
    }
    store_pack(static_cast<T*>(a.result), offset_of_pack(a.result_strides, image, channel, y), made);
  });
}

// Where `places` are as for pool_places.
inline ImageStrides strides_of_places(const PoolingArguments& a) {
  const int64_t* const out = a.window.out;
  return {count_of(out) * a.channels, 1, {out[1] * out[2] * a.channels, out[2] * a.channels, a.channels}};
}

template <class T, int kPack>
inline void pool_places_packed(const PoolingArguments& a) {
  const ImageStrides strides = strides_of_places(a);
  for_each_pack<kPack>(a, a.window.out, [&](uint32_t image, uint32_t channel, const Place& y) {
    const LargestOfPack<T, kPack> largest(a, image, channel, y);
    Pack<int32_t, kPack> made;
    for (int j = 0; j < kPack; ++j) made.elements[j] = largest.numbers[j];
    store_pack(a.places, offset_of_pack(strides, image, channel, y), made);
  });
}

// The gradient of maxima where `places` are known, and of sums and averages.
template <class T, PoolKind kKind, int kPack>
inline void pool_back_packed(const PoolingArguments& a) {
  const int64_t* const in = a.window.data;
  const T* const heads = static_cast<const T*>(a.result);
  const ImageStrides strides = strides_of_places(a);
  for_each_pack<kPack>(a, in, [&](uint32_t image, uint32_t channel, const Place& x) {
    const auto number = static_cast<int32_t>((x.at[0] * in[1] + x.at[1]) * in[2] + x.at[2]);
    double sums[kPack] = {};
    for_elements(windows_over<int32_t>(a, x), [&](const Place& y) {
      const auto pack = load_pack<kPack>(heads, offset_of_pack(a.result_strides, image, channel, y));
      if constexpr (kKind == PoolKind::kMax) {
        const auto at = load_pack<kPack>(static_cast<const int32_t*>(a.places), offset_of_pack(strides, image, channel, y));
#pragma unroll
        for (int j = 0; j < kPack; ++j)
          if (at.elements[j] == number) sums[j] += numeric_cast<double>(pack.elements[j]);
      } else {
        const double slope = kKind == PoolKind::kSum ? 1 : 1 / static_cast<double>(stand_at(a, y).counted);
#pragma unroll
        for (int j = 0; j < kPack; ++j) sums[j] += slope * numeric_cast<double>(pack.elements[j]);
      }
    });
    Pack<T, kPack> made;
    for (int j = 0; j < kPack; ++j) made.elements[j] = numeric_cast<T>(sums[j]);
    store_pack(static_cast<T*>(a.moving), offset_of_pack(a.moving_strides, image, channel, x), made);
  });
}

}  // namespace headrace::device
#endif
