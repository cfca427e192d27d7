// A vector with room for N elements inside, for shapes and argument lists: no allocation in the common case.
// Trivially copyable element types only. Not thread-safe, like any value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace headrace {

template <class T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() noexcept = default;
  explicit SmallVector(size_t count, const T& value = T()) { resize(count, value); }
  SmallVector(std::initializer_list<T> items) { assign(items.begin(), items.end()); }
  explicit SmallVector(std::span<const T> items) { assign(items.begin(), items.end()); }
  template <class It>
  requires(!std::is_integral_v<It>) SmallVector(It first, It last) { assign(first, last); }
  SmallVector(const SmallVector& other) { copy_from(other); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      copy_from(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }
  ~SmallVector() {
    if (!is_inside()) [[unlikely]]
      delete[] data_;
  }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](size_t i) noexcept { return data()[i]; }
  const T& operator[](size_t i) const noexcept { return data()[i]; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }
  T& front() noexcept { return data()[0]; }
  const T& front() const noexcept { return data()[0]; }

  void reserve(size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  void push_back(T value) {
    if (size_ == capacity_) [[unlikely]]
      grow(size_t{capacity_} * 2);
    data_[size_++] = value;
  }
  void pop_back() noexcept { --size_; }
  void clear() noexcept { size_ = 0; }
  void resize(size_t count, T value = T()) {
    reserve(count);
    for (size_t i = size_; i < count; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(count);
  }
  template <class It>
  void assign(It first, It last) {
    size_ = 0;
    reserve(static_cast<size_t>(last - first));
    for (; first != last; ++first) data()[size_++] = static_cast<T>(*first);
  }
  void insert(size_t position, T value) {
    push_back(value);
    std::rotate(begin() + position, end() - 1, end());
  }
  void erase(size_t position) {
    for (size_t i = position + 1; i < size_; ++i) data()[i - 1] = data()[i];
    --size_;
  }

  operator std::span<const T>() const noexcept { return {data(), size_}; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) noexcept {
    if (a.size_ != b.size_) return false;
    const T *x = a.data(), *y = b.data();
    for (size_t i = 0; i < a.size_; ++i)  // not std::equal: for a few elements its call of memcmp costs most
      if (!(x[i] == y[i])) return false;
    return true;
  }

 private:
  bool is_inside() const noexcept { return data_ == inline_; }

  [[gnu::noinline]] void grow(size_t capacity) {
    capacity = std::max<size_t>(capacity, N * 2);
    T* bigger = new T[capacity];
    std::memcpy(static_cast<void*>(bigger), data_, size_ * sizeof(T));
    if (!is_inside()) delete[] data_;
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void copy_from(const SmallVector& other) {
    if (other.is_inside() && is_inside()) {  // a fixed number of bytes: a few moves instead of a call
      std::memcpy(static_cast<void*>(inline_), static_cast<const void*>(other.inline_), sizeof(inline_));
      size_ = other.size_;
      return;
    }
    reserve(other.size_);
    std::memcpy(static_cast<void*>(data_), other.data_, other.size_ * sizeof(T));
    size_ = other.size_;
  }
  // Of a vector whose elements lie inside.
  void steal(SmallVector& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    if (other.is_inside()) {
      std::memcpy(static_cast<void*>(inline_), static_cast<const void*>(other.inline_), sizeof(inline_));
      return;
    }
    data_ = std::exchange(other.data_, other.inline_);
    capacity_ = std::exchange(other.capacity_, N);
  }
  void release() noexcept {
    if (!is_inside()) [[unlikely]]
      delete[] data_;
    data_ = inline_;
    capacity_ = N;
    size_ = 0;
  }

  T* data_ = inline_;  // never null; elsewhere when they do not fit
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  T inline_[N];
};

}  // namespace headrace
