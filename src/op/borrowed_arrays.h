// Handles of arrays that the caller holds anyway, side by side as invoke() wants them, for the time of one call. They
// count no references: two atomic changes per array are a good part of a tiny operation.
#pragma once

#include <array>
#include <span>

#include "headrace/ndarray.hpp"

namespace headrace {

template <size_t N>
class BorrowedArrays {
 public:
  // The arrays outlive this object.
  template <class... Arrays>
  explicit BorrowedArrays(const Arrays&... arrays) noexcept {
    static_assert(sizeof...(Arrays) == N);
    size_t i = 0;
    (borrow(handles_[i++], arrays), ...);
  }
  ~BorrowedArrays() {
    for (NDArray& handle : handles_) {
      static_cast<void>(handle.view_.release());
      static_cast<void>(handle.node_.release());
    }
  }
  BorrowedArrays(const BorrowedArrays&) = delete;
  BorrowedArrays& operator=(const BorrowedArrays&) = delete;

  operator std::span<const NDArray>() const noexcept { return handles_; }

 private:
  static void borrow(NDArray& handle, const NDArray& array) noexcept {
    handle.view_ = IntrusivePtr<View>::adopt(array.view_.get());
    handle.node_ = IntrusivePtr<Node>::adopt(array.node_.get());
    handle.output_index_ = array.output_index_;
  }

  std::array<NDArray, N> handles_;
};

template <class... Arrays>
BorrowedArrays(const Arrays&...) -> BorrowedArrays<sizeof...(Arrays)>;

}  // namespace headrace
