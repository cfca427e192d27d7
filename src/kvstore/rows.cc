#include "kvstore/rows.h"

#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "headrace/sparse.hpp"
#include "op/invoke.h"

namespace headrace::kvstore {

NDArray rows_of(const NDArray& stored, const NDArray& given) {
  NDArray ids = copied_to(cast_to(given.detach(), DType::kInt64), Device{});
  ids = call("_reshape_to", {ids}, {{"shape", Shape{ids.size()}}});
  if (stored.storage_kind() == StorageKind::kRowSparse) return call("_sparse_retain", {stored, ids});
  const std::vector<int64_t> numbers = ids.to_vector<int64_t>();
  const std::set<int64_t> rows(numbers.begin(), numbers.end());
  const std::vector<int64_t> each(rows.begin(), rows.end());
  check(each.empty() || each.front() >= 0, ErrorKind::kIndex,
        "kvstore row_sparse_pull: index {} is out of bounds for axis 0 with size {}", each.front(), stored.shape()[0]);
  const NDArray places = NDArray::from_host(each.data(), {static_cast<int64_t>(each.size())}, DType::kInt64);
  const NDArray values = call("take", {stored, copied_to(places, stored.device())}, {{"mode", std::string("raise")}});
  return sparse::row_sparse(copied_to(values, Device{}), places, stored.shape());
}

}  // namespace headrace::kvstore
