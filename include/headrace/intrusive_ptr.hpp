// A pointer to an object that counts its own references. The object type provides, findable by argument-dependent
// lookup, `void add_reference(const T*) noexcept` and `void release_reference(const T*) noexcept`.
// Different handles to one object may be used on different threads; one handle may not.
#pragma once

#include <cstddef>
#include <utility>

namespace headrace {

template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() noexcept = default;
  IntrusivePtr(std::nullptr_t) noexcept {}
  explicit IntrusivePtr(T* object) noexcept : object_(object) {
    if (object_) add_reference(object_);
  }
  // Takes over a reference that the caller already holds.
  static IntrusivePtr adopt(T* object) noexcept {
    IntrusivePtr p;
    p.object_ = object;
    return p;
  }
  IntrusivePtr(const IntrusivePtr& other) noexcept : IntrusivePtr(other.object_) {}
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~IntrusivePtr() {
    if (object_) release_reference(object_);
  }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  // Gives up the reference without dropping it.
  T* release() noexcept { return std::exchange(object_, nullptr); }
  friend bool operator==(const IntrusivePtr&, const IntrusivePtr&) = default;

 private:
  T* object_ = nullptr;
};

}  // namespace headrace
