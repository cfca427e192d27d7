// Keys and arrays as messages, and back. What a message holds is checked: it may come from another version, or from
// nobody we know.
#pragma once

#include "distributed/frames.h"
#include "distributed/protocol.pb.h"
#include "headrace/kvstore.hpp"
#include "headrace/ndarray.hpp"

namespace headrace::distributed {

void set_key(const kvstore::Key& key, Key& message);
// Raises ValueError when there is none.
kvstore::Key key_of(const Key& message);
// "push of key 'w'", for texts; also of what no worker sends.
std::string text_of(const Request& request);

// The ranks of an answer, which are separated by spaces.
std::vector<uint32_t> ranks_in(const std::string& text);

void set_type(const Shape& shape, DType dtype, Array& message);
// Raise ValueError for shapes and dtypes that no array has.
Shape shape_of(const Array& message);
DType dtype_of(const Array& message);

// All but the elements, which are those of packed(). Dense or row_sparse; waits for the numbers of rows.
void set_array(const NDArray& array, Array& message);
// The elements of an array, packed and in host memory; of a row_sparse one those of its rows.
NDArray packed(const NDArray& array);
// Those of a packed array from a byte up to another, as they are now, whoever writes the array later. Nothing is
// copied, except of small ones. The caller holds access to the array, or has waited for it.
Elements elements_of(const NDArray& packed, size_t begin, size_t end);
Elements elements_of(const NDArray& packed);

// In host memory; a dense one in that of the elements, if they are one piece, and not to be written then. Raises
// ValueError where elements are missing or too many, or rows do not ascend within the shape.
NDArray array_of(const Array& message, const Elements& elements);

}  // namespace headrace::distributed
