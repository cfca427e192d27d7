// Boxes of objects in images: four numbers, corners (xmin, ymin, xmax, ymax) or a center and sizes (x, y, width,
// height); and floats as the type that such operators compute in. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "op/formula/transfer.h"
#include "op/kernel.h"

namespace headrace {

enum class BoxFormat : uint8_t { kCorner, kCenter };

inline BoxFormat box_format(const std::string& name) {
  return name == "center" ? BoxFormat::kCenter : BoxFormat::kCorner;
}

// What two boxes share of the axis of their first and third number.
template <class T>
T shared_side(const T* a, const T* b, BoxFormat format) {
  const bool corner = format == BoxFormat::kCorner;
  const T a_low = corner ? a[0] : a[0] - a[2] / 2, a_high = corner ? a[2] : a[0] + a[2] / 2;
  const T b_low = corner ? b[0] : b[0] - b[2] / 2, b_high = corner ? b[2] : b[0] + b[2] / 2;
  const T side = std::min(a_high, b_high) - std::max(a_low, b_low);
  return side > 0 ? side : T{0};
}

template <class T>
T shared_area(const T* a, const T* b, BoxFormat format) {
  return shared_side(a, b, format) * shared_side(a + 1, b + 1, format);
}

// 0 of a box that is turned inside out.
template <class T>
T box_area(const T* box, BoxFormat format) {
  const T width = format == BoxFormat::kCorner ? box[2] - box[0] : box[2];
  const T height = format == BoxFormat::kCorner ? box[3] - box[1] : box[3];
  return width < 0 || height < 0 ? T{0} : width * height;
}

template <class T>
constexpr ComputeType kRealType = std::is_same_v<T, double> ? ComputeType::kFloat64 : ComputeType::kFloat32;

// Calls f.template operator()<T>() with what floats of `dtype` compute in: double for float64, float for others.
template <class F>
void with_real(DType dtype, F&& f) {
  if (dtype == DType::kFloat64)
    f.template operator()<double>();
  else
    f.template operator()<float>();
}

// The numbers of an input, where they lie if they are T already.
template <class T>
class Reals {
 public:
  explicit Reals(const Tensor& x) {
    if (x.dtype == dtype_of(kRealType<T>)) {
      data_ = x.as<const T>();
      return;
    }
    copy_.resize(static_cast<size_t>(x.size));
    load_function(x.dtype, kRealType<T>)(copy_.data(), x.data, 1, x.size);
    data_ = copy_.data();
  }
  const T* at(int64_t i) const noexcept { return data_ + i; }
  T operator[](int64_t i) const noexcept { return data_[i]; }

 private:
  const T* data_ = nullptr;
  std::vector<T> copy_;
};

// The numbers of a result, all `start` at first; store() writes them.
template <class T>
class RealResult {
 public:
  RealResult(const Tensor& out, T start) : out_(out) {
    const bool direct = out.dtype == dtype_of(kRealType<T>);
    if (!direct) copy_.resize(static_cast<size_t>(out.size));
    data_ = direct ? out.as<T>() : copy_.data();
    std::fill_n(data_, out.size, start);
  }
  T* at(int64_t i) noexcept { return data_ + i; }
  T& operator[](int64_t i) noexcept { return data_[i]; }
  void store() const {
    if (data_ == copy_.data()) store_function(kRealType<T>, out_.dtype)(data_, out_.data, 1, out_.size);
  }

 private:
  const Tensor& out_;
  T* data_ = nullptr;
  std::vector<T> copy_;
};

}  // namespace headrace
