// NDArray: a handle to a view of storage, plus a place on the tape when gradients are recorded.
//
// Copying a handle is cheap and shares the array. A handle belongs to one thread at a time; different handles to one
// array may be used on different threads. Operations return before they ran; reading values waits.
#pragma once

#if __cplusplus < 202002L
#error "Headrace's headers are written in C++20: compile with -std=c++20 or later"
#endif

#include <bit>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/device.hpp"
#include "headrace/dtype.hpp"
#include "headrace/intrusive_ptr.hpp"
#include "headrace/shape.hpp"
#include "headrace/storage_kind.hpp"

namespace headrace {

class View;  // src/ndarray/view.h
class Node;  // src/op/node.h

void add_reference(const View* view) noexcept;
void release_reference(const View* view) noexcept;
void add_reference(const Node* node) noexcept;
void release_reference(const Node* node) noexcept;

// What arrays hold: truths, and numbers of up to 8 bytes. C++20 has no type for float16 and bfloat16: cast such arrays.
template <class T>
concept Element = std::is_arithmetic_v<T> && sizeof(T) <= 8 && std::same_as<T, std::remove_cv_t<T>>;

template <Element T>
constexpr DType dtype_of() {
  constexpr DType kSigned[] = {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};
  constexpr DType kUnsigned[] = {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64};
  if constexpr (std::same_as<T, bool>) return DType::kBool;
  if constexpr (std::floating_point<T>) return sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  return (std::is_signed_v<T> ? kSigned : kUnsigned)[std::countr_zero(sizeof(T))];
}

// What is asked of an array that is none raises TypeError, unless it says otherwise.
class NDArray {
 public:
  NDArray() noexcept = default;  // "none": no array at all, as one that was moved from
  explicit NDArray(IntrusivePtr<View> view) noexcept : view_(std::move(view)) {}

  // A new array whose memory is allocated when it is first written. Values are undefined until then.
  static NDArray empty(const Shape& shape, DType dtype = DType::kFloat32, Device device = {});
  // A new array holding a copy of as many packed row-major elements as the shape has.
  static NDArray from_host(const void* data, const Shape& shape, DType dtype, Device device = {});
  // The same of a vector, an array or a span, whose elements say the dtype. ValueError: it has not as many as the
  // shape.
  template <Element T>
  static NDArray from(std::span<const T> values, const Shape& shape);
  template <std::ranges::contiguous_range Values>
  requires Element<std::ranges::range_value_t<Values>>
  static NDArray from(const Values& values, const Shape& shape);

  // Whether there is an array; of its elements it says nothing, see Comparison.
  explicit operator bool() const noexcept { return static_cast<bool>(view_); }
  const Shape& shape() const&;
  Shape shape() && { return std::as_const(*this).shape(); }  // outlives the array
  const Strides& strides() const&;
  Strides strides() && { return std::as_const(*this).strides(); }
  DType dtype() const;
  Device device() const;
  StorageKind storage_kind() const;  // see sparse.hpp
  int64_t size() const;
  size_t ndim() const { return std::as_const(*this).shape().size(); }
  bool is_contiguous() const;

  // Blocks until every write queued so far is done; raises the error of a failed one.
  void wait_to_read() const;
  // Copies all elements, row-major, to `destination` (size() * item_size bytes) after waiting.
  void copy_to_host(void* destination) const;
  template <Element T>
  std::vector<T> to_vector() const;  // TypeError: T is not the element type (float, double, int32_t, ...)
  double item() const;               // the only element, as a double; raises ValueError when size() != 1

  // The same memory without a place on the tape; in a graph that is traced, the value that passes no gradient on
  // (BlockGrad). None of none.
  NDArray detach() const;

  // The same memory without a place on the tape, in traced graphs too: for those who record, and for what none records.
  NDArray off_tape() const noexcept { return NDArray(view_); }

  const IntrusivePtr<View>& view() const noexcept { return view_; }
  const IntrusivePtr<Node>& node() const noexcept { return node_; }
  uint32_t output_index() const noexcept { return output_index_; }
  void set_node(IntrusivePtr<Node> node, uint32_t output_index) noexcept {
    node_ = std::move(node);
    output_index_ = output_index;
  }

 private:
  template <size_t N>
  friend class BorrowedArrays;

  IntrusivePtr<View> view_;
  IntrusivePtr<Node> node_;
  uint32_t output_index_ = 0;
};

void check_dtype(const NDArray& array, DType expected, const char* operation);  // raises TypeError
void check_count(size_t count, const Shape& shape, const char* operation);      // raises ValueError
// Raises RuntimeError for an array of a traced graph: to be called before memory is taken for its values.
void check_has_values(const NDArray& array, const char* operation);
[[noreturn]] void fail_no_room(const NDArray& array, const char* operation);  // MemoryError: of its values on the host

template <Element T>
NDArray NDArray::from(std::span<const T> values, const Shape& shape) {
  check_count(values.size(), shape, "from");
  return from_host(values.data(), shape, dtype_of<T>());
}

template <std::ranges::contiguous_range Values>
requires Element<std::ranges::range_value_t<Values>> NDArray NDArray::from(const Values& values, const Shape& shape) {
  return from(std::span<const std::ranges::range_value_t<Values>>(values), shape);
}

template <Element T>
std::vector<T> NDArray::to_vector() const {
  check_dtype(*this, dtype_of<T>(), "to_vector");
  check_has_values(*this, "to_vector");
  const auto count = static_cast<size_t>(size());
  if constexpr (std::same_as<T, bool>) {  // a vector of them has no elements to write to
    const auto values = std::make_unique<bool[]>(count);
    copy_to_host(values.get());
    return std::vector<bool>(values.get(), values.get() + count);
  } else {
    std::vector<T> values;
    try {
      values.resize(count);
    } catch (const std::exception&) {
      fail_no_room(*this, "to_vector");
    }
    copy_to_host(values.data());
    return values;
  }
}

}  // namespace headrace
