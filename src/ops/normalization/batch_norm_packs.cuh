// Batch normalisation where channels lie side by side: each thread has a pack of neighbouring channels, which it loads
// at once, and goes down the rows, the elements of those channels.
#pragma once

#include "ops/normalization/batch_norm.cuh"

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/pack.cuh"

namespace headrace::device {

constexpr int kRowsAtOnce = 4;  // whose loads are under way together

// kAcross threads to the packs of a row, the others of the block to further rows.
template <int kPack, int kAcross>
struct PackedThreads {
  static constexpr int kDown = kBlockThreads / kAcross;
  static constexpr int kColumns = kAcross * kPack;  // channels of a block
  static int down() { return threadIdx.x / kAcross; }

  // Calls f(part, first channel of the block, first channel of the thread, whether there is one, first row, the one
  // behind the last) for all parts and channels. All threads of a block call it alike.
  template <class F>
  static void for_each_part(const BatchSpace& s, const F& f) {
    const int64_t tiles = (s.channels + kColumns - 1) / kColumns;
    for (int64_t piece = blockIdx.x; piece < tiles * s.parts; piece += gridDim.x) {
      const int64_t part = piece / tiles, tile = piece % tiles * kColumns;
      const int64_t channel = tile + threadIdx.x % kAcross * kPack;
      const int64_t begin = part * s.of_part, end = begin + s.of_part < s.count ? begin + s.of_part : s.count;
      f(part, tile, channel, channel < s.channels, begin, end);
    }
  }

  // Calls f<n>(row) for the rows of the thread, n of them at a time, kDown apart.
  template <class F>
  static void for_each_rows(int64_t begin, int64_t end, const F& f) {
    for (int64_t row = begin + down(); row < end; row += kDown * kRowsAtOnce) {
      const int64_t left = (end - row + kDown - 1) / kDown;
      if (left >= kRowsAtOnce)
        f.template operator()<kRowsAtOnce>(row);
      else
        for (int64_t i = 0; i < left; ++i) f.template operator()<1>(row + i * kDown);
    }
  }
};

template <int kRows, class T, int kPack>
struct LoadedRows {
  LoadedRows(const void* data, const BatchSpace& s, int64_t channel, int64_t row, int down) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) packs[i] = pack_at(data, s, channel, row + i * down);
  }
  static const Pack<T, kPack>& pack_at(const void* data, const BatchSpace& s, int64_t channel, int64_t row) {
    return *reinterpret_cast<const Pack<T, kPack>*>(static_cast<const T*>(data) + row * s.channels + channel);
  }
  Pack<T, kPack> packs[kRows];
};

template <class T, int kPack>
inline void store(void* data, const BatchSpace& s, int64_t channel, int64_t row, const Pack<T, kPack>& pack) {
  // The place counted in packs: of other addresses the compiler stores the elements one by one.
  static_cast<Pack<T, kPack>*>(data)[(row * s.channels + channel) / kPack] = pack;
}

template <class Compute, class P, int kPack>
struct AffinePack {
  AffinePack(const BatchAffineArguments& a, int64_t channel) {
    for (int k = 0; k < kPack; ++k) of[k] = Affine<Compute, P>(a, channel + k);
  }
  Affine<Compute, P> of[kPack];
};

// As batch_sums. Sums of one thread are in what it computes in, those of all threads in double.
template <class Compute, class T, class P, int kPack, int kAcross, bool kBackward, bool kRelu>
inline void batch_sums_packed(const BatchSumArguments& a) {
  using Threads = PackedThreads<kPack, kAcross>;
  const BatchSpace& s = a.space;
  __shared__ Compute values[2][kBlockThreads * kPack];
  Threads::for_each_part(s, [&](int64_t part, int64_t tile, int64_t channel, bool has_channel, int64_t begin,
                                int64_t end) {
    Compute first[kPack] = {}, second[kPack] = {};
    if (has_channel && begin < end) {
      if constexpr (kBackward) {
        const AffinePack<Compute, P, kPack> affine(a.affine, channel);
        Threads::for_each_rows(begin, end, [&]<int kRows>(int64_t row) {
          const LoadedRows<kRows, T, kPack> xs(a.x, s, channel, row, Threads::kDown);
          const LoadedRows<kRows, T, kPack> dys(a.dy, s, channel, row, Threads::kDown);
          for (int i = 0; i < kRows; ++i)
            for (int k = 0; k < kPack; ++k) {
              const auto x = numeric_cast<Compute>(xs.packs[i].elements[k]);
              auto dy = numeric_cast<Compute>(dys.packs[i].elements[k]);
              if (kRelu) dy = behind_relu<T>(dy, affine.of[k](x));
              first[k] += dy;
              second[k] += dy * (x - affine.of[k].mean);
            }
        });
      } else {
        const LoadedRows<1, T, kPack> shift(a.x, s, channel, 0, 0);
        Threads::for_each_rows(begin, end, [&]<int kRows>(int64_t row) {
          const LoadedRows<kRows, T, kPack> xs(a.x, s, channel, row, Threads::kDown);
          for (int i = 0; i < kRows; ++i)
            for (int k = 0; k < kPack; ++k) {
              const Compute distance = numeric_cast<Compute>(xs.packs[i].elements[k]) -
                                       numeric_cast<Compute>(shift.packs[0].elements[k]);
              first[k] += distance;
              second[k] += distance * distance;
            }
        });
      }
    }
    __syncthreads();  // an earlier part is over with them
    for (int k = 0; k < kPack; ++k) {
      values[0][threadIdx.x * kPack + k] = first[k];
      values[1][threadIdx.x * kPack + k] = second[k];
    }
    __syncthreads();
    for (int column = threadIdx.x; column < Threads::kColumns && tile + column < s.channels; column += kBlockThreads)
      for (int which = 0; which < 2; ++which) {
        double sum = 0;
        for (int down = 0; down < Threads::kDown; ++down)
          sum += static_cast<double>(values[which][down * Threads::kColumns + column]);
        a.sums[(2 * part + which) * s.channels + tile + column] = sum;
      }
  });
}

template <class Compute, class T, class P, int kPack, int kAcross, bool kRelu>
inline void batch_normalize_packed(const BatchNormalizeArguments& a) {
  using Threads = PackedThreads<kPack, kAcross>;
  const BatchSpace& s = a.space;
  Threads::for_each_part(s, [&](int64_t, int64_t, int64_t channel, bool has_channel, int64_t begin, int64_t end) {
    if (!has_channel) return;
    const AffinePack<Compute, P, kPack> affine(a.affine, channel);
    Threads::for_each_rows(begin, end, [&]<int kRows>(int64_t row) {
      LoadedRows<kRows, T, kPack> rows(a.x, s, channel, row, Threads::kDown);
      for (int i = 0; i < kRows; ++i) {
        for (int k = 0; k < kPack; ++k) {
          Compute y = affine.of[k](numeric_cast<Compute>(rows.packs[i].elements[k]));
          if (kRelu) y = relu_of<T>(y);
          rows.packs[i].elements[k] = numeric_cast<T>(y);
        }
        store(a.y, s, channel, row + i * Threads::kDown, rows.packs[i]);
      }
    });
  });
}

template <class Compute, class T, class P, int kPack, int kAcross, bool kRelu>
inline void batch_gradient_packed(const BatchGradientArguments& a) {
  using Threads = PackedThreads<kPack, kAcross>;
  const BatchSpace& s = a.space;
  const Compute* const slopes = static_cast<const Compute*>(a.slopes);
  Threads::for_each_part(s, [&](int64_t, int64_t, int64_t channel, bool has_channel, int64_t begin, int64_t end) {
    if (!has_channel) return;
    const AffinePack<Compute, P, kPack> affine(a.affine, channel);
    Compute level[kPack], slope[kPack];
    for (int k = 0; k < kPack; ++k) {
      level[k] = slopes[channel + k];
      slope[k] = slopes[s.channels + channel + k];
    }
    Threads::for_each_rows(begin, end, [&]<int kRows>(int64_t row) {
      const LoadedRows<kRows, T, kPack> xs(a.x, s, channel, row, Threads::kDown);
      LoadedRows<kRows, T, kPack> rows(a.dy, s, channel, row, Threads::kDown);
      for (int i = 0; i < kRows; ++i) {
        for (int k = 0; k < kPack; ++k) {
          const auto x = numeric_cast<Compute>(xs.packs[i].elements[k]);
          auto dy = numeric_cast<Compute>(rows.packs[i].elements[k]);
          if (kRelu) dy = behind_relu<T>(dy, affine.of[k](x));
          rows.packs[i].elements[k] =
              numeric_cast<T>((dy - level[k] - (x - affine.of[k].mean) * slope[k]) * affine.of[k].scale);
        }
        store(a.dx, s, channel, row + i * Threads::kDown, rows.packs[i]);
      }
    });
  });
}

}  // namespace headrace::device
#endif
