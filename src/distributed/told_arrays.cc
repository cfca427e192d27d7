#include "distributed/told_arrays.h"

#include <cstring>
#include <map>
#include <utility>

#include "base/check.h"
#include "distributed/messages.h"
#include "headrace/sparse.hpp"
#include "kvstore/buckets.h"
#include "ndarray/view.h"

namespace headrace::distributed {
namespace {

size_t row_bytes(const NDArray& array) {
  Shape shape = array.shape();
  shape[0] = 1;
  return static_cast<size_t>(element_count(shape)) * item_size(array.dtype());
}

// Rows of a row_sparse array: their numbers, and where each lies.
struct Rows {
  explicit Rows(const NDArray& array)
      : numbers(sparse::indices_of(array).to_vector<int64_t>()), values(packed(array)), bytes(row_bytes(array)) {
    values.wait_to_read();
  }
  const char* row(size_t place) const { return values.view()->data() + place * bytes; }

  const std::vector<int64_t> numbers;
  const NDArray values;
  const size_t bytes;
};

NDArray with_dense_rows(const NDArray& whole, const std::vector<Rows>& changes) {
  const NDArray before = packed(whole), made = NDArray::empty(whole.shape(), whole.dtype());
  before.wait_to_read();
  char* const data = made.view()->data();
  std::memcpy(data, before.view()->data(), kvstore::bytes_of(made));
  for (const Rows& rows : changes)
    for (size_t i = 0; i < rows.numbers.size(); ++i)
      std::memcpy(data + static_cast<size_t>(rows.numbers[i]) * rows.bytes, rows.row(i), rows.bytes);
  return made;
}

NDArray with_sparse_rows(const NDArray& whole, const std::vector<Rows>& changes) {
  const Rows before(whole);
  std::map<int64_t, const char*> newest;  // by number
  const auto add = [&](const Rows& rows) {
    for (size_t i = 0; i < rows.numbers.size(); ++i) newest[rows.numbers[i]] = rows.row(i);
  };
  for (const Rows& rows : changes) add(rows);
  std::vector<int64_t> numbers;
  std::vector<const char*> places;
  const auto put = [&](int64_t number, const char* place) {
    numbers.push_back(number);
    places.push_back(place);
  };
  auto changed = newest.begin();
  for (size_t i = 0; i < before.numbers.size(); ++i) {
    for (; changed != newest.end() && changed->first < before.numbers[i]; ++changed)
      put(changed->first, changed->second);
    const bool is_changed = changed != newest.end() && changed->first == before.numbers[i];
    put(before.numbers[i], is_changed ? (changed++)->second : before.row(i));
  }
  for (; changed != newest.end(); ++changed) put(changed->first, changed->second);
  Shape shape = whole.shape();
  shape[0] = static_cast<int64_t>(numbers.size());
  if (numbers.empty()) return whole;
  const NDArray values = NDArray::empty(shape, whole.dtype());
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(values.view()->data() + i * before.bytes, places[i], before.bytes);
  return sparse::row_sparse(values, NDArray::from_host(numbers.data(), {shape[0]}, DType::kInt64), whole.shape());
}

}  // namespace

ToldArrays::ToldArrays(std::vector<NDArray> whole) : whole_(std::move(whole)) {}

size_t ToldArrays::bytes() const {
  size_t all = 0;
  for (const NDArray& array : whole_)
    all += static_cast<size_t>(element_count(array.shape())) * item_size(array.dtype());
  return all;
}

void ToldArrays::change_rows(std::vector<NDArray> rows) {
  check(rows.size() == whole_.size(), ErrorKind::kValue, "distributed: rows of {} arrays came, for a key of {}",
        rows.size(), whole_.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    check(rows[i].storage_kind() == StorageKind::kRowSparse && rows[i].shape() == whole_[i].shape() &&
              rows[i].dtype() == whole_[i].dtype(),
          ErrorKind::kValue, "distributed: rows of an array of shape {} of {} came, for one of shape {} of {}",
          to_string(rows[i].shape()), dtype_name(rows[i].dtype()), to_string(whole_[i].shape()),
          dtype_name(whole_[i].dtype()));
    changed_bytes_ += kvstore::bytes_of(sparse::values_of(rows[i]));
  }
  changes_.push_back(std::move(rows));
  if (changed_bytes_ > bytes()) whole();
}

const std::vector<NDArray>& ToldArrays::whole() {
  for (size_t i = 0; i < whole_.size() && !changes_.empty(); ++i) {
    std::vector<Rows> changes;
    for (const std::vector<NDArray>& rows : changes_) changes.emplace_back(rows[i]);
    const bool is_dense = whole_[i].storage_kind() == StorageKind::kDense;
    whole_[i] = is_dense ? with_dense_rows(whole_[i], changes) : with_sparse_rows(whole_[i], changes);
  }
  changes_.clear();
  changed_bytes_ = 0;
  return whole_;
}

}  // namespace headrace::distributed
