// Boxes of objects in images: how much two overlap, which of many stay, where one is relative to another; and floats as
// the type that such operators compute in. Pure functions; any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "op/formula/transfer.h"
#include "op/kernel.h"

namespace headrace {

// kPixels: corners of which each is a pixel that belongs to the box.
enum class BoxFormat : uint8_t { kCorner, kCenter, kPixels };

// What a side is longer than the difference of its ends.
template <class T>
constexpr T longer_by(BoxFormat format) {
  return format == BoxFormat::kPixels ? T{1} : T{0};
}

inline constexpr char kBoxFormatDoc[] =
    "What the four numbers of a box are: 'corner' xmin, ymin, xmax, ymax; 'center' x, y, width, height.";

inline BoxFormat box_format(const std::string& name) {
  return name == "center" ? BoxFormat::kCenter : BoxFormat::kCorner;
}

// What two boxes share of the axis of their first and third number.
template <class T>
T shared_side(const T* a, const T* b, BoxFormat format) {
  const bool corner = format != BoxFormat::kCenter;
  const T a_low = corner ? a[0] : a[0] - a[2] / 2, a_high = corner ? a[2] : a[0] + a[2] / 2;
  const T b_low = corner ? b[0] : b[0] - b[2] / 2, b_high = corner ? b[2] : b[0] + b[2] / 2;
  const T side = std::min(a_high, b_high) - std::max(a_low, b_low) + longer_by<T>(format);
  return side > 0 ? side : T{0};
}

template <class T>
T shared_area(const T* a, const T* b, BoxFormat format) {
  return shared_side(a, b, format) * shared_side(a + 1, b + 1, format);
}

// 0 of a box that is turned inside out.
template <class T>
T box_area(const T* box, BoxFormat format) {
  const bool center = format == BoxFormat::kCenter;
  const T width = center ? box[2] : box[2] - box[0] + longer_by<T>(format);
  const T height = center ? box[3] : box[3] - box[1] + longer_by<T>(format);
  return width < 0 || height < 0 ? T{0} : width * height;
}

// What two boxes share, divided by what they cover together, their areas being known.
template <class T>
T overlap(const T* a, T area, const T* b, T other_area, BoxFormat format) {
  const T both = shared_area(a, b, format);
  return both > 0 ? both / (area + other_area - both) : T{0};
}

template <class T>
T overlap(const T* a, const T* b, BoxFormat format) {
  return overlap(a, box_area(a, format), b, box_area(b, format), format);
}

// Boxes by columns, each with a class, so that one is compared with many by vector instructions: what overlap() gives.
template <class T>
class BoxColumns {
 public:
  using Mark = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;  // as wide as a number, for the compiler's sake

  BoxColumns(BoxFormat format, size_t count) : format_(format) {
    for (std::vector<T>* column : {&low_x_, &low_y_, &high_x_, &high_y_, &area_, &class_}) column->reserve(count);
  }

  void push_back(const T* box, T kind) {
    const bool corner = format_ != BoxFormat::kCenter;
    low_x_.push_back(corner ? box[0] : box[0] - box[2] / 2);
    low_y_.push_back(corner ? box[1] : box[1] - box[3] / 2);
    high_x_.push_back(corner ? box[2] : box[0] + box[2] / 2);
    high_y_.push_back(corner ? box[3] : box[1] + box[3] / 2);
    area_.push_back(box_area(box, format_));
    class_.push_back(kind);
  }

  // Sets marks[j], for all j behind i, where box j has the class of box i and overlaps it more than `threshold`.
  void mark(size_t i, T threshold, Mark* marks) const {
    const T low_x = low_x_[i], low_y = low_y_[i], high_x = high_x_[i], high_y = high_y_[i], area = area_[i];
    const T kind = class_[i], longer = longer_by<T>(format_);
    const Mark zero_is_more = 0 > threshold;
    for (size_t j = i + 1; j < area_.size(); ++j) {
      const T x = std::min(high_x, high_x_[j]) - std::max(low_x, low_x_[j]) + longer;
      const T y = std::min(high_y, high_y_[j]) - std::max(low_y, low_y_[j]) + longer;
      const T both = (x > 0 ? x : T{0}) * (y > 0 ? y : T{0});
      const T part = both / (area + area_[j] - both);
      const Mark shares = both > 0, is_more = part > threshold;
      marks[j] |= ((shares & is_more) | (~shares & zero_is_more)) & static_cast<Mark>(class_[j] == kind);
    }
  }

 private:
  BoxFormat format_;
  std::vector<T> low_x_, low_y_, high_x_, high_y_, area_, class_;
};

// The numbers up to `count`, those of the largest scores first; of equal ones the first.
template <class F>
std::vector<int64_t> best_first(int64_t count, F&& score) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, std::greater<>(), score);
  return order;
}

// Of `count` boxes, the best first, those that no better one that stays takes away: takes(better, other); `most` at
// most.
template <class F>
std::vector<int64_t> survivors(int64_t count, int64_t most, F&& takes) {
  std::vector<char> gone(static_cast<size_t>(count), 0);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count && std::ssize(result) < most; ++i) {
    if (gone[static_cast<size_t>(i)]) continue;
    result.push_back(i);
    for (int64_t j = i + 1; j < count; ++j) {
      char& lost = gone[static_cast<size_t>(j)];
      if (!lost) lost = takes(i, j);
    }
  }
  return result;
}

// One axis of a box: its middle and its size.
template <class T>
struct Side {
  T place, size;
};

// Of the axis of the first and third of four corners.
template <class T>
Side<T> side_of(const T* corners) {
  return {(corners[0] + corners[2]) / 2, corners[2] - corners[0]};
}

// What networks learn of a box: how far it is from an anchor, in the anchor's sizes, and the logarithm of how much
// larger it is.
template <class T>
Side<T> relative(const Side<T>& box, const Side<T>& anchor) {
  return {(box.place - anchor.place) / anchor.size, std::log(box.size / anchor.size)};
}

// The way back.
template <class T>
Side<T> absolute(const Side<T>& learned, const Side<T>& anchor) {
  return {learned.place * anchor.size + anchor.place, std::exp(learned.size) * anchor.size};
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
