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
#include "ops/detection/box_overlap.h"

namespace headrace {

inline constexpr char kBoxFormatDoc[] =
    "What the four numbers of a box are: 'corner' xmin, ymin, xmax, ymax; 'center' x, y, width, height.";

inline BoxFormat box_format(const std::string& name) {
  return name == "center" ? BoxFormat::kCenter : BoxFormat::kCorner;
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
