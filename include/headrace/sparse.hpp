// Sparse arrays: of mostly zeros, of which only the others are stored. They live on the host.
//
//   row_sparse  values (n, rest of the shape) are the rows whose numbers are in indices (n)
//   csr         values (n) lie row by row, in the columns that indices (n) name; those of row r are from indptr[r] up
//               to indptr[r + 1]. Two axes
//
// Indices are int64 and ascend, in each row of a csr array; none is there twice.
//
//   NDArray a = sparse::csr(values, columns, indptr, {3, 4});
//   NDArray product = dot(a, dense);                       // computed on what is stored
//   NDArray b = cast_storage(a, "default");                // dense
//
// An operator without code for what its arrays are stored as takes dense copies of them; that is counted, and said
// once.
#pragma once

#include "headrace/dtype.hpp"
#include "headrace/ndarray.hpp"
#include "headrace/shape.hpp"
#include "headrace/storage_kind.hpp"

namespace headrace::sparse {

// Arrays that hold copies of the parts, in ascending order, on the device of the values. What is wrong with the shapes
// and dtypes of the parts raises ValueError or TypeError; indices out of bounds or given twice raise ValueError where
// the array is read.
NDArray row_sparse(const NDArray& values, const NDArray& indices, const Shape& shape);
NDArray csr(const NDArray& values, const NDArray& indices, const NDArray& indptr, const Shape& shape);
// Nothing is stored. Raises ValueError for a csr array of other than two axes, RuntimeError off the host.
NDArray zeros(StorageKind kind, const Shape& shape, DType dtype = DType::kFloat32, Device device = {});

// Copies of the parts; wait for the array. Raise ValueError where there is none.
NDArray values_of(const NDArray& array);
NDArray indices_of(const NDArray& array);
NDArray indptr_of(const NDArray& array);

}  // namespace headrace::sparse
