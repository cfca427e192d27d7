// What a sparse array holds in place of bytes of its own.
#pragma once

#include "headrace/ndarray.hpp"
#include "headrace/sparse.hpp"
#include "headrace/storage_kind.hpp"
#include "ndarray/view.h"

namespace headrace {

// Packed arrays on the host that nobody writes once they are parts of a storage, so that storages may share them: who
// writes a sparse array gives it new ones, or is alone with them. See sparse.hpp for what they hold.
struct SparseParts {
  NDArray values, indices, indptr;

  int64_t count() const noexcept { return indices.size(); }
  // Of arrays whose values are there: in a task that holds access to the storage.
  template <class T>
  T* values_as() const {
    return reinterpret_cast<T*>(values.view()->data());
  }
  int64_t* index() const { return reinterpret_cast<int64_t*>(indices.view()->data()); }
  int64_t* row_begin() const { return reinterpret_cast<int64_t*>(indptr.view()->data()); }
};

// Parts for `count` stored rows or elements of an array, whose values and indices are to be written; indptr is zero.
SparseParts make_parts(StorageKind kind, const Shape& shape, DType dtype, int64_t count);

// Of a new sparse array whose parts its first writer will set.
ViewPtr make_sparse_view(StorageKind kind, const Shape& shape, DType dtype, Device device);

// Elements of one stored row.
int64_t row_size(const Shape& shape) noexcept;

inline StorageKind kind_of(const View& view) noexcept {
  return view.storage() ? view.storage()->kind() : StorageKind::kDense;
}

}  // namespace headrace
