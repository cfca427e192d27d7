// Batch normalisation of elements that lie as outer x channels x inner.
#pragma once

#include <cstdint>

namespace headrace::device {

// A vector with one value per channel; in elements.
struct ChannelVector {
  void* data;
  int64_t stride;
};

// Moving statistics as x * scale + shift, all of it packed.
struct BatchAffineOfStatistics {
  const float *gamma, *beta, *mean, *variance;
  float *scale, *shift;
  int64_t channels;
  float eps;
  int32_t fix_gamma;
};

struct BatchSpace {
  int64_t channels, inner, count;  // count: elements of a channel
  int64_t parts, of_part;          // of sums: how many, and elements of a channel in one
};

// What elements are normalised with: (x - mean) * inverse * gamma + beta.
struct BatchAffineArguments {
  ChannelVector mean, inverse, gamma, beta;
  int64_t fix_gamma;  // whether gamma counts as 1
};

// Sums of parts: [part][first, second][channel], double. Forward: of x - the channel's first element, and of its
// square. Backward: of dy, and of dy * (x - mean).
struct BatchSumArguments {
  const void* x;
  const void* dy;
  double* sums;
  BatchSpace space;
  BatchAffineArguments affine;
};

struct BatchStatisticsArguments {
  const void* x;
  const double* sums;  // null: the moving statistics are taken
  ChannelVector mean, inverse, moving_mean, moving_variance, gamma;
  BatchSpace space;
  double eps, momentum;
  int64_t sets_gamma;  // to 1
};

struct BatchNormalizeArguments {
  const void* x;
  void* y;
  BatchSpace space;
  BatchAffineArguments affine;
};

// Makes the gradients of gamma and beta, and for each channel the level and the slope that gradients of data lose:
// [level, slope][channel], in what is computed in.
struct BatchSlopeArguments {
  const double* sums;
  void* slopes;
  ChannelVector inverse, dgamma, dbeta;
  BatchSpace space;
  int64_t fix_gamma, through_statistics;
};

struct BatchGradientArguments {
  const void* x;
  const void* dy;
  const void* slopes;
  void* dx;
  BatchSpace space;
  BatchAffineArguments affine;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"

namespace headrace::device {

template <class P>
inline P& value_of(const ChannelVector& vector, int64_t channel) {
  return static_cast<P*>(vector.data)[channel * vector.stride];
}

// Where element `place` of a channel lies.
inline int64_t element_of(const BatchSpace& s, int64_t channel, int64_t place) {
  return (place / s.inner * s.channels + channel) * s.inner + place % s.inner;
}

// P: what parameters are held in.
template <class Compute, class P>
struct Affine {
  Affine() = default;
  Affine(const BatchAffineArguments& a, int64_t channel)
      : mean(numeric_cast<Compute>(value_of<P>(a.mean, channel))),
        scale(numeric_cast<Compute>(value_of<P>(a.inverse, channel))),
        beta(numeric_cast<Compute>(value_of<P>(a.beta, channel))) {
    if (!a.fix_gamma) scale *= numeric_cast<Compute>(value_of<P>(a.gamma, channel));
  }
  Compute operator()(Compute x) const { return (x - mean) * scale + beta; }

  Compute mean, scale, beta;
};

// Of y as it is held in T.
template <class T, class Compute>
inline Compute relu_of(Compute y) {
  return numeric_cast<Compute>(numeric_cast<T>(y)) < 0 ? Compute{0} : y;
}

// dy times the slope of relu at y, as it is held in T: NaN where that is.
template <class T, class Compute>
inline Compute behind_relu(Compute dy, Compute y) {
  const auto held = numeric_cast<Compute>(numeric_cast<T>(y));
  return held > 0 ? dy : held == held ? Compute{0} : held;
}

// kWidth threads to a part of a channel; across where channels lie side by side.
template <class Compute, class T, class P, int kWidth, bool kAcross, bool kBackward, bool kRelu>
inline void batch_sums(const BatchSumArguments& a) {
  using Threads = Group<kWidth, kAcross>;
  const BatchSpace& s = a.space;
  const int64_t blocks = (s.channels + Threads::kCount - 1) / Threads::kCount;
  for (int64_t piece = blockIdx.x; piece < blocks * s.parts; piece += gridDim.x) {
    const int64_t part = piece / blocks, channel = piece % blocks * Threads::kCount + Threads::number();
    const bool has_channel = channel < s.channels;
    const int64_t begin = part * s.of_part, end = begin + s.of_part < s.count ? begin + s.of_part : s.count;
    const auto x = [&](int64_t place) {
      return numeric_cast<Compute>(static_cast<const T*>(a.x)[element_of(s, channel, place)]);
    };
    double first = 0, second = 0;
    if (has_channel && begin < end) {
      if constexpr (kBackward) {
        const Affine<Compute, P> affine(a.affine, channel);
        for (int64_t i = begin + Threads::lane(); i < end; i += kWidth) {
          auto dy = numeric_cast<Compute>(static_cast<const T*>(a.dy)[element_of(s, channel, i)]);
          if (kRelu) dy = behind_relu<T>(dy, affine(x(i)));
          first += static_cast<double>(dy);
          second += static_cast<double>(dy) * static_cast<double>(x(i) - affine.mean);
        }
      } else {
        const Compute shift = x(0);
        for (int64_t i = begin + Threads::lane(); i < end; i += kWidth) {
          const auto distance = static_cast<double>(x(i) - shift);
          first += distance;
          second += distance * distance;
        }
      }
    }
    first = Threads::combined(first, Plus());
    second = Threads::combined(second, Plus());
    if (!has_channel || Threads::lane() != 0) continue;
    a.sums[2 * part * s.channels + channel] = first;
    a.sums[(2 * part + 1) * s.channels + channel] = second;
  }
}

// Threads of a block that work on the parts of one channel.
using PartThreads = Group<32, true>;

// Calls f(channel, whether there is one). All threads of a block call it alike.
template <class F>
inline void for_each_channel(const BatchSpace& s, const F& f) {
  for (int64_t first = blockIdx.x * static_cast<int64_t>(PartThreads::kCount); first < s.channels;
       first += gridDim.x * static_cast<int64_t>(PartThreads::kCount)) {
    const int64_t channel = first + PartThreads::number();
    f(channel, channel < s.channels);
  }
}

inline double sum_of_parts(const double* sums, const BatchSpace& s, int64_t which, int64_t channel, bool has_channel) {
  double sum = 0;
  for (int64_t part = PartThreads::lane(); has_channel && part < s.parts; part += PartThreads::kThreads)
    sum += sums[(2 * part + which) * s.channels + channel];
  return PartThreads::combined(sum, Plus());
}

template <class T, class P>
inline void batch_statistics(const BatchStatisticsArguments& a) {
  for_each_channel(a.space, [&](int64_t channel, bool has_channel) {
    double first = 0, square = 0;
    if (a.sums && a.space.count > 0) {
      const auto n = static_cast<double>(a.space.count);
      first = sum_of_parts(a.sums, a.space, 0, channel, has_channel) / n;
      square = sum_of_parts(a.sums, a.space, 1, channel, has_channel) / n;
    }
    if (!has_channel || PartThreads::lane() != 0) return;
    auto mean = numeric_cast<double>(value_of<P>(a.moving_mean, channel));
    auto variance = numeric_cast<double>(value_of<P>(a.moving_variance, channel));
    if (a.sums) {
      const double old_mean = mean, old_variance = variance;
      mean = variance = 0;
      if (a.space.count > 0) {
        const double spread = square - first * first;
        mean = numeric_cast<double>(static_cast<const T*>(a.x)[element_of(a.space, channel, 0)]) + first;
        variance = spread > 0 || spread != spread ? spread : 0.0;
        value_of<P>(a.moving_mean, channel) = numeric_cast<P>(old_mean + (mean - old_mean) * (1 - a.momentum));
        value_of<P>(a.moving_variance, channel) =
            numeric_cast<P>(old_variance + (variance - old_variance) * (1 - a.momentum));
      }
    }
    if (a.sets_gamma) value_of<P>(a.gamma, channel) = numeric_cast<P>(1.0f);
    value_of<P>(a.mean, channel) = numeric_cast<P>(mean);
    value_of<P>(a.inverse, channel) = numeric_cast<P>(1 / std::sqrt(variance + a.eps));
  });
}

// Calls f(element, channel) for all of them.
template <class F>
inline void for_each_element_of(const BatchSpace& s, const F& f) {
  const int64_t size = s.count * s.channels;
  for (int64_t i = first_of_thread(); i < size; i += all_threads())
    f(i, i / s.inner % s.channels);
}

template <class Compute, class T, class P, bool kRelu>
inline void batch_normalize(const BatchNormalizeArguments& a) {
  for_each_element_of(a.space, [&](int64_t i, int64_t channel) {
    Compute y = Affine<Compute, P>(a.affine, channel)(numeric_cast<Compute>(static_cast<const T*>(a.x)[i]));
    if (kRelu) y = relu_of<T>(y);
    static_cast<T*>(a.y)[i] = numeric_cast<T>(y);
  });
}

template <class Compute, class P>
inline void batch_slopes(const BatchSlopeArguments& a) {
  for_each_channel(a.space, [&](int64_t channel, bool has_channel) {
    const double sum = sum_of_parts(a.sums, a.space, 0, channel, has_channel);
    const double product = sum_of_parts(a.sums, a.space, 1, channel, has_channel);
    if (!has_channel || PartThreads::lane() != 0) return;
    const auto inverse = numeric_cast<double>(value_of<P>(a.inverse, channel));
    const double n = a.space.count > 0 ? static_cast<double>(a.space.count) : 1.0;
    Compute* const slopes = static_cast<Compute*>(a.slopes);
    slopes[channel] = a.through_statistics ? static_cast<Compute>(sum / n) : Compute{0};
    slopes[a.space.channels + channel] =
        a.through_statistics ? static_cast<Compute>(product * inverse * inverse / n) : Compute{0};
    value_of<P>(a.dgamma, channel) = numeric_cast<P>(a.fix_gamma ? 0.0 : inverse * product);
    value_of<P>(a.dbeta, channel) = numeric_cast<P>(sum);
  });
}

template <class Compute, class T, class P, bool kRelu>
inline void batch_gradient(const BatchGradientArguments& a) {
  for_each_element_of(a.space, [&](int64_t i, int64_t channel) {
    const Affine<Compute, P> affine(a.affine, channel);
    const Compute* const slopes = static_cast<const Compute*>(a.slopes);
    const auto x = numeric_cast<Compute>(static_cast<const T*>(a.x)[i]);
    auto dy = numeric_cast<Compute>(static_cast<const T*>(a.dy)[i]);
    if (kRelu) dy = behind_relu<T>(dy, affine(x));
    const Compute level = dy - slopes[channel];
    static_cast<T*>(a.dx)[i] =
        numeric_cast<T>((level - (x - affine.mean) * slopes[a.space.channels + channel]) * affine.scale);
  });
}

inline void batch_affine(const BatchAffineOfStatistics& a) {
  for (int64_t i = first_of_thread(); i < a.channels; i += all_threads()) {
    a.scale[i] = (a.fix_gamma ? 1.0f : a.gamma[i]) / std::sqrt(a.variance[i] + a.eps);
    a.shift[i] = a.beta[i] - a.mean[i] * a.scale[i];
  }
}

}  // namespace headrace::device
#endif
