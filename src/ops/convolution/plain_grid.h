// Images as the plain loops of convolution and pooling walk them. Any thread.
#pragma once

#include <array>

#include "ops/convolution/image.h"

namespace headrace {

using Triple = std::array<int64_t, 3>;

// The spatial part of some numbers as three, the missing axes in front.
inline Triple spatial(const Shape& numbers, size_t skip, int64_t otherwise) {
  Triple three{otherwise, otherwise, otherwise};
  const size_t count = numbers.size() - skip;
  for (size_t i = 0; i < count; ++i) three[3 - count + i] = numbers[skip + i];
  return three;
}

// An image as planes (first, second) of three spatial axes.
template <class T>
struct Grid {
  T* data;
  int64_t first, second, first_stride, second_stride;
  Triple extent, stride;

  explicit Grid(const Image& image)
      : data(static_cast<T*>(image.data)),
        first(image.shape[0]),
        second(image.shape[1]),
        first_stride(image.strides[0]),
        second_stride(image.strides[1]),
        extent(spatial(image.shape, 2, 1)),
        stride(spatial(image.strides, 2, 0)) {}

  int64_t count() const noexcept { return extent[0] * extent[1] * extent[2]; }
  T* plane(int64_t i, int64_t j) const noexcept { return data + i * first_stride + j * second_stride; }
  int64_t offset(const Triple& at) const noexcept { return at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2]; }
  Triple position(int64_t index) const noexcept {
    return {index / (extent[1] * extent[2]), index / extent[2] % extent[1], index % extent[2]};
  }
};

// The sums of all planes of each channel, in double: the gradient of a bias.
template <class T>
void sum_channels(const Grid<T>& grid, T* sums) {
  for (int64_t channel = 0; channel < grid.second; ++channel) {
    double sum = 0;
    for (int64_t n = 0; n < grid.first; ++n)
      for (int64_t index = 0; index < grid.count(); ++index)
        sum += static_cast<double>(grid.plane(n, channel)[grid.offset(grid.position(index))]);
    sums[channel] = static_cast<T>(sum);
  }
}

}  // namespace headrace
