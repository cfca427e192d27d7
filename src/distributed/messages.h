// Keys and arrays as messages, and back. What a message holds is checked: it may come from another version, or from
// nobody we know.
#pragma once

#include "distributed/protocol.pb.h"
#include "headrace/kvstore.hpp"
#include "headrace/ndarray.hpp"

namespace headrace::distributed {

void set_key(const kvstore::Key& key, Key& message);
// Raises ValueError when there is none.
kvstore::Key key_of(const Key& message);

void set_type(const Shape& shape, DType dtype, Array& message);
// Raise ValueError for shapes and dtypes that no array has.
Shape shape_of(const Array& message);
DType dtype_of(const Array& message);

// With its elements; waits for them. Dense or row_sparse.
void set_array(const NDArray& array, Array& message);
// In host memory. Raises ValueError where elements are missing or too many, or rows do not ascend within the shape.
NDArray array_of(const Array& message);

}  // namespace headrace::distributed
