// What the forward and backward kernels of batch normalisation share: how the elements lie, and the parameters of each
// channel in the compute type.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/normalization/batch_norm_rows.h"
#include "ops/normalization/memory_order.h"
#include "ops/reduce/rows.h"

namespace headrace::batch_norm_detail {

inline constexpr double kNsPerElement = 0.25;  // of one pass
inline constexpr int64_t kBlockRows = 1024;    // rows summed in the compute type before the sums go on in double
inline constexpr int64_t kStepRows = 16;       // rows that go into sums at a time
inline constexpr int64_t kMostParts = 32;      // partial sums
inline constexpr int64_t kPartElements = 1 << 15;
inline constexpr int64_t kWide = 64;  // columns from which on rows are long enough for vectors

// Packed elements of one dtype, in the memory order of the call.
struct Memory {
  void* data;
  DType dtype;

  void* at(int64_t element) const noexcept {
    return static_cast<char*>(data) + element * static_cast<int64_t>(item_size(dtype));
  }
};

inline Memory memory_of(KernelContext& c, const Tensor& tensor, const Strides& order) {
  return {const_cast<void*>(in_order_of(c, tensor, order)), tensor.dtype};
}

template <class T>
inline constexpr ComputeType kCompute = sizeof(T) == 8 ? ComputeType::kFloat64 : ComputeType::kFloat32;

// How the elements of the call lie: (outer, channels, inner). With inner = 1 they are rows of `width` columns, a
// multiple of the channels, so that few channels fill vectors too; otherwise planes of `inner` elements.
struct Space {
  Space(const Tensor& result, int64_t axis) {
    const AxisSpace along = AxisSpace::along(result.shape, axis);
    channels = along.length;
    size = result.size;
    inner = size == 0 || (lies_channels_last(result) && axis == 1) ? 1 : along.inner;
    width = channels;
    if (channels < kWide) {
      width = std::lcm(channels, int64_t{16});
      while (width < kWide) width *= 2;
    }
    parts = std::clamp<int64_t>(size / kPartElements, 1, std::min(kMostParts, std::max<int64_t>(count(), 1)));
  }
  bool columns() const noexcept { return inner == 1; }
  int64_t count() const noexcept { return size / channels; }  // elements per channel, and rows of `channels`
  int64_t planes() const noexcept { return size / inner; }
  double cost(double passes) const noexcept { return static_cast<double>(size) * kNsPerElement * passes; }

  // Calls f(first element, rows, width) for the rows of `channels` in a range, at most `most` rows of `width` at a
  // time; the last call may have one incomplete row.
  template <class F>
  void for_rows(int64_t begin, int64_t end, int64_t most, F&& f) const {
    int64_t at = begin * channels;
    const int64_t stop = end * channels;
    while (stop - at >= width) {
      const int64_t rows = std::min(most, (stop - at) / width);
      f(at, rows, width);
      at += rows * width;
    }
    if (at < stop) f(at, 1, stop - at);
  }
  // The rows of one part, for sums.
  template <class F>
  void for_rows_of_part(int64_t part, F&& f) const {
    for_rows(part * count() / parts, (part + 1) * count() / parts, kStepRows, f);
  }
  // Runs body(begin, end) on ranges of rows of `channels`, or of planes.
  void run(double passes, FunctionRef<void(int64_t, int64_t)> body) const {
    const int64_t item = columns() ? channels : inner;
    parallel_for(size / item, std::max<int64_t>(1, kPartElements / 2 / item), cost(passes), body);
  }

  int64_t channels, inner, size, width, parts;
};

template <class T>
std::vector<T> values_of(const Tensor& vector) {
  std::vector<T> values(static_cast<size_t>(vector.size));
  load_function(vector.dtype, kCompute<T>)(values.data(), vector.data, vector.strides[0], vector.size);
  return values;
}

inline void store_values(const Tensor& vector, const std::vector<double>& values) {
  store_function(ComputeType::kFloat64, vector.dtype)(values.data(), vector.data, vector.strides[0], vector.size);
}

// Repeats what belongs to the channels for all columns.
template <class T>
void spread(std::vector<T>& values, int64_t width) {
  const size_t channels = values.size();
  values.resize(static_cast<size_t>(width));
  for (size_t i = channels; i < values.size(); ++i) values[i] = values[i - channels];
}

// (x - mean) * scale + beta per column or channel, the same bits forward and backward: which elements relu keeps is
// found out again.
template <class T>
struct Affine {
  std::vector<T> mean, scale, beta;

  Affine(const Space& s, const Tensor& gamma, bool fix_gamma, const Tensor& beta_values, const Tensor& means,
         const Tensor& inverse)
      : mean(values_of<T>(means)), scale(values_of<T>(inverse)), beta(values_of<T>(beta_values)) {
    if (!fix_gamma) {
      const std::vector<T> factors = values_of<T>(gamma);
      for (size_t i = 0; i < scale.size(); ++i) scale[i] *= factors[i];
    }
    for (auto* values : {&mean, &scale, &beta}) spread(*values, s.columns() ? s.width : s.channels);
  }
  BatchAffine<T> at(int64_t channel) const { return {&mean[0] + channel, &scale[0] + channel, &beta[0] + channel}; }
};

inline int64_t axis_of(const KernelContext& c, int64_t axis) {
  return normalize_axis(axis, static_cast<int64_t>(c.output(0).shape.size()), c.name());
}

}  // namespace headrace::batch_norm_detail
