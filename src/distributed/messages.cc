#include "distributed/messages.h"

#include <algorithm>

#include "base/check.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"

namespace headrace::distributed {
namespace {

void set_elements(const NDArray& array, Array& message) {
  std::string& bytes = *message.mutable_elements();
  bytes.resize(static_cast<size_t>(array.size()) * item_size(array.dtype()));
  if (!bytes.empty()) contiguous(array).copy_to_host(bytes.data());
}

NDArray dense_of(const std::string& bytes, const Shape& shape, DType dtype) {
  const size_t expected = static_cast<size_t>(element_count(shape)) * item_size(dtype);
  check(bytes.size() == expected, ErrorKind::kValue,
        "distributed: an array of shape {} of {} has {} bytes, but {} came", to_string(shape), dtype_name(dtype),
        expected, bytes.size());
  return NDArray::from_host(bytes.data(), shape, dtype);
}

}  // namespace

void set_key(const kvstore::Key& key, Key& message) {
  if (const auto* number = std::get_if<int64_t>(&key))
    message.set_number(*number);
  else
    message.set_text(std::get<std::string>(key));
}

kvstore::Key key_of(const Key& message) {
  check(message.kind_case() != Key::KIND_NOT_SET, ErrorKind::kValue, "distributed: a request without a key came");
  if (message.kind_case() == Key::kNumber) return int64_t{message.number()};
  return message.text();
}

void set_type(const Shape& shape, DType dtype, Array& message) {
  message.set_dtype(static_cast<uint32_t>(dtype));
  for (const int64_t extent : shape) message.add_shape(extent);
}

Shape shape_of(const Array& message) {
  constexpr int kMostAxes = 32;
  check(message.shape_size() <= kMostAxes, ErrorKind::kValue, "distributed: an array of {} axes came",
        message.shape_size());
  Shape shape;
  int64_t count = 1;
  for (const int64_t extent : message.shape()) {
    const bool fits = extent >= 0 && !__builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count);
    check(fits && count <= (int64_t{1} << 48), ErrorKind::kValue,
          "distributed: an array came with an axis of {} elements; together that is no array", extent);
    shape.push_back(extent);
  }
  return shape;
}

DType dtype_of(const Array& message) {
  check(message.dtype() < static_cast<uint32_t>(kDTypeCount), ErrorKind::kValue,
        "distributed: an array of dtype number {} came, there are {}", message.dtype(), kDTypeCount);
  return static_cast<DType>(message.dtype());
}

void set_array(const NDArray& array, Array& message) {
  set_type(array.shape(), array.dtype(), message);
  if (array.storage_kind() == StorageKind::kDense) return set_elements(array, message);
  message.set_sparse(true);
  const std::vector<int64_t> rows = sparse::indices_of(array).to_vector<int64_t>();
  message.mutable_rows()->Assign(rows.begin(), rows.end());
  set_elements(sparse::values_of(array), message);
}

NDArray array_of(const Array& message) {
  const Shape shape = shape_of(message);
  const DType dtype = dtype_of(message);
  if (!message.sparse()) return dense_of(message.elements(), shape, dtype);
  check(!shape.empty(), ErrorKind::kValue, "distributed: a row_sparse array without axes came");
  const std::vector<int64_t> rows(message.rows().begin(), message.rows().end());
  for (size_t i = 0; i < rows.size(); ++i)
    check(rows[i] >= (i ? rows[i - 1] + 1 : 0) && rows[i] < shape[0], ErrorKind::kValue,
          "distributed: rows of a row_sparse array ascend and lie below {}, but row {} came", shape[0], rows[i]);
  Shape of_values = shape;
  of_values[0] = static_cast<int64_t>(rows.size());
  if (rows.empty()) return sparse::zeros(StorageKind::kRowSparse, shape, dtype);
  return sparse::row_sparse(dense_of(message.elements(), of_values, dtype),
                            NDArray::from_host(rows.data(), {of_values[0]}, DType::kInt64), shape);
}

}  // namespace headrace::distributed
