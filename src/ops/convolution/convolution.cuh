// What convolutions do beside a product of matrices. The columns of a group: row (image, window), column (channel,
// tap).
#pragma once

#include "ops/convolution/window.cuh"

namespace headrace::device {

struct ColumnArguments {
  void* image;  // the first channel of the group
  void* columns;
  const void* bias;  // of the channels of the group, added to the image that is gathered; null: none
  int64_t images, channels;
  WindowGeometry window;
  ImageStrides strides;  // of the image
};

// An image without gaps, whose channels follow each other after `inner` elements, and what is done with it, in this
// order; null: not.
struct AfterConvolutionArguments {
  void* image;
  const void* bias;            // added, one number for each channel
  const float *scale, *shift;  // image * scale + shift, likewise
  const void* sum;             // added, lies as the image does
  int64_t relu;                // whether what is negative becomes zero
  int64_t size, channels, inner;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/grid.cuh"
#include "op/device/pack.cuh"
#include "op/formula/numeric_cast.h"

namespace headrace::device {

template <class T>
inline void image_to_columns(const ColumnArguments& a) {
  const int64_t windows = count_of(a.window.out), taps = count_of(a.window.kernel), width = a.channels * taps;
  const int64_t size = a.images * windows * width;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const int64_t row = i / width, column = i % width;
    const Place y = place_of(row % windows, a.window.out), tap = place_of(column % taps, a.window.kernel);
    int64_t offset = row / windows * a.strides.first + column / taps * a.strides.channel;
    bool is_inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t x = y.at[d] * a.window.step[d] - a.window.pad[d] + tap.at[d] * a.window.dilate[d];
      is_inside = is_inside && x >= 0 && x < a.window.data[d];
      offset += x * a.strides.place[d];
    }
    static_cast<T*>(a.columns)[i] = is_inside ? static_cast<const T*>(a.image)[offset] : T{};
  }
}

// Each element of the image is the sum of what windows have at it, in the order of the taps.
template <class T, class Sum>
inline void columns_to_image(const ColumnArguments& a) {
  const int64_t windows = count_of(a.window.out), taps = count_of(a.window.kernel), width = a.channels * taps;
  const int64_t places = count_of(a.window.data), size = a.images * a.channels * places;
  for (int64_t i = first_of_thread(); i < size; i += all_threads()) {
    const Place x = place_of(i % places, a.window.data);
    const int64_t channel = i / places % a.channels, image = i / places / a.channels;
    Sum sum = a.bias ? numeric_cast<Sum>(static_cast<const T*>(a.bias)[channel]) : Sum{0};
    for (int64_t t = 0; t < taps; ++t) {
      const Place tap = place_of(t, a.window.kernel);
      int64_t window = 0;
      bool meets = true;
      for (int d = 0; d < 3; ++d) {
        const int64_t from = x.at[d] + a.window.pad[d] - tap.at[d] * a.window.dilate[d];
        const int64_t y = from / a.window.step[d];
        meets = meets && from >= 0 && from % a.window.step[d] == 0 && y < a.window.out[d];
        window = window * a.window.out[d] + y;
      }
      if (meets)
        sum += numeric_cast<Sum>(
            static_cast<const T*>(a.columns)[(image * windows + window) * width + channel * taps + t]);
    }
    static_cast<T*>(a.image)[image * a.strides.first + channel * a.strides.channel + offset_of(x, a.strides.place)] =
        numeric_cast<T>(sum);
  }
}

// kPack neighbours at a time, which are all of one channel, or of neighbouring ones where inner is 1.
template <class T, int kPack, bool kIsAcross>
inline void after_convolution(const AfterConvolutionArguments& a) {
  using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using Elements = Pack<T, kPack>;
  for (int64_t i = first_of_thread() * kPack; i < a.size; i += all_threads() * kPack) {
    const int64_t first = kIsAcross ? i % a.channels : i / a.inner % a.channels;
    auto& image = *reinterpret_cast<Elements*>(static_cast<T*>(a.image) + i);
    Elements elements = image, sum{};
    if (a.sum) sum = *reinterpret_cast<const Elements*>(static_cast<const T*>(a.sum) + i);
#pragma unroll
    for (int j = 0; j < kPack; ++j) {
      const int64_t channel = kIsAcross ? first + j : first;
      auto value = numeric_cast<Compute>(elements.elements[j]);
      if (a.bias) value += numeric_cast<Compute>(static_cast<const T*>(a.bias)[channel]);
      if (a.scale) value = value * a.scale[channel] + a.shift[channel];
      if (a.sum) value += numeric_cast<Compute>(sum.elements[j]);
      if (a.relu && value < 0) value = 0;
      elements.elements[j] = numeric_cast<T>(value);
    }
    image = elements;
  }
}

}  // namespace headrace::device
#endif
