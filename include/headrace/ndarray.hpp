// NDArray: a handle to a view of storage, plus a place on the tape when gradients are recorded.
//
// Copying a handle is cheap and shares the array. A handle belongs to one thread at a time; different handles to one
// array may be used on different threads. Operations return before they ran; reading values waits.
#pragma once

#include <cstdint>
#include <span>
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

class NDArray {
 public:
  NDArray() noexcept = default;  // "none": no array at all
  explicit NDArray(IntrusivePtr<View> view) noexcept : view_(std::move(view)) {}

  // A new array whose memory is allocated when it is first written. Values are undefined until then.
  static NDArray empty(const Shape& shape, DType dtype = DType::kFloat32, Device device = {});
  // A new array holding a copy of `count` packed row-major elements. Raises ValueError unless the sizes match.
  static NDArray from_host(const void* data, const Shape& shape, DType dtype, Device device = {});
  template <class T>
  static NDArray from(std::span<const T> values, const Shape& shape);

  explicit operator bool() const noexcept { return static_cast<bool>(view_); }
  const Shape& shape() const noexcept;
  const Strides& strides() const noexcept;
  DType dtype() const noexcept;
  Device device() const noexcept;
  StorageKind storage_kind() const noexcept;  // see sparse.hpp
  int64_t size() const noexcept;
  size_t ndim() const noexcept { return shape().size(); }
  bool is_contiguous() const noexcept;

  // Blocks until every write queued so far is done; raises the error of a failed one.
  void wait_to_read() const;
  // Copies all elements, row-major, to `destination` (size() * item_size bytes) after waiting.
  void copy_to_host(void* destination) const;
  template <class T>
  std::vector<T> to_vector() const;  // T must be the element type (float, double, int32_t, ...)
  double item() const;               // the only element, as a double; raises ValueError when size() != 1

  // The same memory without a place on the tape.
  NDArray detach() const noexcept { return NDArray(view_); }

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

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}

void check_dtype(const NDArray& array, DType expected, const char* operation);  // raises TypeError
// Raises RuntimeError for an array of a traced graph: to be called before memory is taken for its values.
void check_has_values(const NDArray& array, const char* operation);

template <class T>
NDArray NDArray::from(std::span<const T> values, const Shape& shape) {
  return from_host(values.data(), shape, dtype_of<T>());
}

template <class T>
std::vector<T> NDArray::to_vector() const {
  check_dtype(*this, dtype_of<T>(), "to_vector");
  check_has_values(*this, "to_vector");
  std::vector<T> values(static_cast<size_t>(size()));
  copy_to_host(values.data());
  return values;
}

}  // namespace headrace
