#include "distributed/messages.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "headrace/sparse.hpp"
#include "ndarray/view.h"
#include "op/invoke.h"

namespace headrace::distributed {
namespace {

size_t bytes_of(const Shape& shape, DType dtype) {
  return static_cast<size_t>(element_count(shape)) * item_size(dtype);
}

constexpr uintptr_t kAlignment = 64;  // that borrowed memory must have

// What may be written later does not lie in the memory of others.
NDArray dense_of(const Elements& elements, const Shape& shape, DType dtype, bool may_borrow) {
  const size_t expected = bytes_of(shape, dtype);
  check(elements.size() == expected, ErrorKind::kValue,
        "distributed: an array of shape {} of {} has {} bytes, but {} came", to_string(shape), dtype_name(dtype),
        expected, elements.size());
  const std::vector<grpc::Slice>& pieces = elements.pieces();
  if (!may_borrow || pieces.size() != 1 || reinterpret_cast<uintptr_t>(pieces[0].begin()) % kAlignment != 0) {
    const NDArray copy = NDArray::empty(shape, dtype);
    if (expected > 0) elements.copy_to(copy.view()->data());
    return copy;
  }
  auto* const owner = new grpc::Slice(pieces[0]);
  StoragePtr storage(new Storage(Device{}, expected, const_cast<uint8_t*>(owner->begin()), owner,
                                 [](void* piece) { delete static_cast<grpc::Slice*>(piece); }));
  return NDArray(ViewPtr(new View(std::move(storage), dtype, shape)));
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

std::string text_of(const Request& request) {
  const auto of_key = [](const char* what, const Place& place) {
    if (place.key().kind_case() == Key::KIND_NOT_SET) return fmt::format("{} without a key", what);
    return fmt::format("{} of key {}", what, kvstore::to_string(key_of(place.key())));
  };
  switch (request.what_case()) {
    case Request::kInit:
      return of_key("init", request.init().place());
    case Request::kPush:
      return of_key("push", request.push().place());
    case Request::kPull:
      return of_key("pull", request.pull().place());
    case Request::kTransfer:
      return "exchange";
    case Request::kOutcome:
      return "outcome of a push";
    case Request::kRepeated:
      return "request that the primary repeats";
    default:
      return "command";
  }
}

std::vector<uint32_t> ranks_in(const std::string& text) {
  std::istringstream left(text);
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; left >> rank;) ranks.push_back(rank);
  return ranks;
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
  if (array.storage_kind() == StorageKind::kDense) return;
  message.set_sparse(true);
  const std::vector<int64_t> rows = sparse::indices_of(array).to_vector<int64_t>();
  message.mutable_rows()->Assign(rows.begin(), rows.end());
}

NDArray packed(const NDArray& array) {
  const NDArray values =
      array.storage_kind() == StorageKind::kDense ? array.detach() : sparse::values_of(array).detach();
  return contiguous(values.device().is_host() ? values : copied_to(values, {}));
}

Elements elements_of(const NDArray& packed, size_t begin, size_t end) {
  if (begin == end) return {};
  const View& view = *packed.view();
  if (!view.storage()->may_share()) return Elements({grpc::Slice(view.data() + begin, end - begin)});
  const StoragePtr kept(new Storage(*view.storage()->allocator(), view.storage()->device(), view.storage()->bytes()));
  kept->take_contents(*view.storage());
  const char* const data =
      static_cast<const char*>(kept->data()) + view.offset() * static_cast<int64_t>(item_size(view.dtype()));
  return Elements(data + begin, end - begin, kept);
}

Elements elements_of(const NDArray& packed) { return elements_of(packed, 0, bytes_of(packed.shape(), packed.dtype())); }

NDArray array_of(const Array& message, const Elements& elements) {
  const Shape shape = shape_of(message);
  const DType dtype = dtype_of(message);
  if (!message.sparse()) return dense_of(elements, shape, dtype, true);
  check(!shape.empty(), ErrorKind::kValue, "distributed: a row_sparse array without axes came");
  const std::vector<int64_t> rows(message.rows().begin(), message.rows().end());
  for (size_t i = 0; i < rows.size(); ++i)
    check(rows[i] >= (i ? rows[i - 1] + 1 : 0) && rows[i] < shape[0], ErrorKind::kValue,
          "distributed: rows of a row_sparse array ascend and lie below {}, but row {} came", shape[0], rows[i]);
  Shape of_values = shape;
  of_values[0] = static_cast<int64_t>(rows.size());
  if (rows.empty()) return sparse::zeros(StorageKind::kRowSparse, shape, dtype);
  return sparse::row_sparse(dense_of(elements, of_values, dtype, false),
                            NDArray::from_host(rows.data(), {of_values[0]}, DType::kInt64), shape);
}

}  // namespace headrace::distributed
