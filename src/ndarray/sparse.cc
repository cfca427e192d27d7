#include "headrace/sparse.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "engine/runtime.h"
#include "ndarray/sparse_parts.h"
#include "ndarray/strided_copy.h"

namespace headrace {
namespace {

constexpr std::array kNames = {"default", "row_sparse", "csr"};

}  // namespace

const char* storage_kind_name(StorageKind kind) noexcept { return kNames[static_cast<size_t>(kind)]; }

StorageKind parse_storage_kind(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  check(found != kNames.end(), ErrorKind::kValue,
        "storage type '{}' is unknown; there are 'default', 'row_sparse', 'csr'", name);
  return static_cast<StorageKind>(found - kNames.begin());
}

int64_t row_size(const Shape& shape) noexcept {
  return std::accumulate(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies<>());
}

SparseParts make_parts(StorageKind kind, const Shape& shape, DType dtype, int64_t count) {
  SparseParts parts;
  Shape stored{count};
  for (size_t axis = 1; kind == StorageKind::kRowSparse && axis < shape.size(); ++axis) stored.push_back(shape[axis]);
  parts.values = NDArray::empty(stored, dtype);
  parts.indices = NDArray::empty({count}, DType::kInt64);
  if (kind == StorageKind::kCsr) {
    parts.indptr = NDArray::empty({shape[0] + 1}, DType::kInt64);
    std::fill_n(parts.row_begin(), shape[0] + 1, 0);
  }
  return parts;
}

ViewPtr make_sparse_view(StorageKind kind, const Shape& shape, DType dtype, Device device) {
  check(device.is_host(), ErrorKind::kRuntime,
        "a {} array cannot be on {}: sparse arrays live on the host; cast_storage gives a dense one",
        storage_kind_name(kind), to_string(device));
  check(!shape.empty(), ErrorKind::kValue, "a {} array has at least one axis", storage_kind_name(kind));
  check(kind != StorageKind::kCsr || shape.size() == 2, ErrorKind::kValue,
        "a csr array has two axes, but the shape is {}", to_string(shape));
  for (int64_t extent : shape)
    check(extent >= 0, ErrorKind::kValue, "a {} array cannot have the shape {}", storage_kind_name(kind),
          to_string(shape));
  return ViewPtr(new View(StoragePtr(new Storage(device, kind)), dtype, shape));
}

namespace sparse {
namespace {

// Positions in ascending order of their indices within [begin, end). Raises for indices that no array can have.
void order(const int64_t* indices, int64_t begin, int64_t end, int64_t extent, const char* what, int64_t* positions) {
  std::iota(positions + begin, positions + end, begin);
  std::stable_sort(positions + begin, positions + end,
                   [indices](int64_t a, int64_t b) { return indices[a] < indices[b]; });
  for (int64_t i = begin; i < end; ++i) {
    const int64_t index = indices[positions[i]];
    check(index >= 0 && index < extent, ErrorKind::kValue, "{}: index {} is out of bounds for an axis of {} entries",
          what, index, extent);
    check(i == begin || indices[positions[i - 1]] != index, ErrorKind::kValue,
          "{}: index {} is there twice; add up what belongs to one place first", what, index);
  }
}

// Copies the entries at `positions`, of `bytes` bytes each.
void gather(const char* from, const std::vector<int64_t>& positions, size_t bytes, char* to) {
  for (size_t i = 0; i < positions.size(); ++i)
    std::memcpy(to + i * bytes, from + static_cast<size_t>(positions[i]) * bytes, bytes);
}

// A task that sets the parts of `made` to copies of those given, in order.
struct SetParts {
  ViewPtr made, given_values, given_indices, given_indptr;

  void operator()() const {
    const ViewPtr values = packed(given_values), indices = packed(given_indices), indptr = packed(given_indptr);
    const StorageKind kind = kind_of(*made);
    const int64_t count = indices->size(), rows = made->shape()[0];
    const char* const what = kind == StorageKind::kCsr ? "csr" : "row_sparse";
    const auto* const index = reinterpret_cast<const int64_t*>(indices->data());
    std::vector<int64_t> positions(static_cast<size_t>(count));
    SparseParts parts = make_parts(kind, made->shape(), made->dtype(), count);
    if (kind == StorageKind::kCsr) {
      const auto* const begin = reinterpret_cast<const int64_t*>(indptr->data());
      check(begin[0] == 0 && begin[rows] == count, ErrorKind::kValue,
            "csr: indptr must begin with 0 and end with the number of values, {}, but it is {} to {}", count, begin[0],
            begin[rows]);
      for (int64_t r = 0; r < rows; ++r) {
        check(begin[r] <= begin[r + 1] && begin[r + 1] <= count, ErrorKind::kValue,
              "csr: indptr must not descend, but it has {} behind {}", begin[r + 1], begin[r]);
        order(index, begin[r], begin[r + 1], made->shape()[1], what, positions.data());
      }
      std::copy_n(begin, rows + 1, parts.row_begin());
    } else {
      order(index, 0, count, rows, what, positions.data());
    }
    const size_t entry =
        (kind == StorageKind::kCsr ? 1 : static_cast<size_t>(row_size(made->shape()))) * item_size(made->dtype());
    gather(values->data(), positions, entry, parts.values.view()->data());
    gather(indices->data(), positions, sizeof(int64_t), parts.indices.view()->data());
    made->storage()->set_parts(std::move(parts));
  }
};

NDArray from_parts(ViewPtr made, const NDArray& values, const NDArray& indices, const NDArray& indptr) {
  SmallVector<Var*, 3> reads;
  for (const NDArray* part : {&values, &indices, &indptr}) {
    if (!*part) continue;
    check(part->device().is_host(), ErrorKind::kValue, "{}: parts must be on the host, not on {}",
          storage_kind_name(kind_of(*made)), to_string(part->device()));
    Var* const var = &storage_of(*part->view(), storage_kind_name(kind_of(*made))).var();
    if (std::ranges::find(reads, var) == reads.end()) reads.push_back(var);
  }
  Var* const written = &made->storage()->var();
  runtime().engine.push(TaskSpec{.name = "set_parts",
                                 .reads = {reads.data(), reads.size()},
                                 .writes = {&written, 1},
                                 .cost_ns = 1000 + 5 * static_cast<double>(values.size()),
                                 .fresh_writes = true},
                        SetParts{made, values.view(), indices.view(), indptr ? indptr.view() : ViewPtr()});
  return NDArray(std::move(made));
}

void check_indices(const NDArray& indices, int64_t count, const char* kind, const char* part) {
  check_dtype(indices, DType::kInt64, kind);
  check(indices.shape() == Shape{count}, ErrorKind::kValue, "{}: {} must have the shape ({},), got {}", kind, part,
        count, to_string(indices.shape()));
}

const SparseParts& require_parts(const NDArray& array, const char* operation) {
  check(array.storage_kind() != StorageKind::kDense, ErrorKind::kValue, "{}: the array is dense", operation);
  array.wait_to_read();
  return array.view()->storage()->parts();
}

// On the device of the array that the part is of.
NDArray copy_of(const NDArray& part, const NDArray& whole) {
  return NDArray::from_host(part.view()->data(), part.shape(), part.dtype(), whole.device());
}

}  // namespace

NDArray row_sparse(const NDArray& values, const NDArray& indices, const Shape& shape) {
  ViewPtr made = make_sparse_view(StorageKind::kRowSparse, shape, values.dtype(), values.device());
  const int64_t count = values.ndim() == 0 ? 0 : values.shape()[0];
  Shape expected = shape;
  expected[0] = count;
  check(values.shape() == expected, ErrorKind::kValue,
        "row_sparse: values must have the shape {} for an array of shape {}, got {}", to_string(expected),
        to_string(shape), to_string(values.shape()));
  check_indices(indices, count, "row_sparse", "indices");
  return from_parts(std::move(made), values, indices, {});
}

NDArray csr(const NDArray& values, const NDArray& indices, const NDArray& indptr, const Shape& shape) {
  ViewPtr made = make_sparse_view(StorageKind::kCsr, shape, values.dtype(), values.device());
  check(values.ndim() == 1, ErrorKind::kValue, "csr: values must have one axis, got {}", to_string(values.shape()));
  check_indices(indices, values.size(), "csr", "indices");
  check_indices(indptr, shape[0] + 1, "csr", "indptr");
  return from_parts(std::move(made), values, indices, indptr);
}

NDArray zeros(StorageKind kind, const Shape& shape, DType dtype, Device device) {
  check(kind != StorageKind::kDense, ErrorKind::kValue, "zeros: the kind must be row_sparse or csr");
  ViewPtr made = make_sparse_view(kind, shape, dtype, device);
  made->storage()->set_parts(make_parts(kind, shape, dtype, 0));
  return NDArray(std::move(made));
}

NDArray values_of(const NDArray& array) { return copy_of(require_parts(array, "values_of").values, array); }
NDArray indices_of(const NDArray& array) { return copy_of(require_parts(array, "indices_of").indices, array); }
NDArray indptr_of(const NDArray& array) {
  const SparseParts& parts = require_parts(array, "indptr_of");
  check(static_cast<bool>(parts.indptr), ErrorKind::kValue, "indptr_of: a row_sparse array has none");
  return copy_of(parts.indptr, array);
}

}  // namespace sparse
}  // namespace headrace
