// Consecutive elements of packed memory in the compute type of T: the memory itself, or a converted copy of a piece.
// One per thread.
#pragma once

#include <vector>

#include "op/formula/transfer.h"

namespace headrace {

template <class T>
class Stretch {
 public:
  // Pieces have at most `longest` elements.
  Stretch(const void* data, DType dtype, int64_t longest)
      : data_(static_cast<char*>(const_cast<void*>(data))),
        item_(static_cast<int64_t>(headrace::item_size(dtype))),
        load_(load_function(dtype, kType)),
        store_(store_function(kType, dtype)),
        buffer_(dtype == dtype_of(kType) ? 0 : static_cast<size_t>(longest)) {}

  const T* read(int64_t first, int64_t n) {
    if (buffer_.empty()) return reinterpret_cast<T*>(data_) + first;
    load_(buffer_.data(), data_ + first * item_, 1, n);
    return buffer_.data();
  }
  // Where to put a piece; `written` brings it to its place.
  T* target(int64_t first) { return buffer_.empty() ? reinterpret_cast<T*>(data_) + first : buffer_.data(); }
  void written(int64_t first, int64_t n) {
    if (!buffer_.empty()) store_(buffer_.data(), data_ + first * item_, 1, n);
  }

 private:
  static constexpr ComputeType kType = sizeof(T) == 8 ? ComputeType::kFloat64 : ComputeType::kFloat32;
  char* data_;
  int64_t item_;
  Load load_;
  Store store_;
  std::vector<T> buffer_;
};

}  // namespace headrace
