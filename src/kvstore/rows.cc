#include "kvstore/rows.h"

#include <algorithm>
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
  std::vector<int64_t> rows = ids.to_vector<int64_t>();
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  if (!rows.empty())
    check(rows.front() >= 0, ErrorKind::kIndex,
          "kvstore row_sparse_pull: index {} is out of bounds for axis 0 with size {}", rows.front(),
          stored.shape()[0]);
  const NDArray places = NDArray::from_host(rows.data(), {static_cast<int64_t>(rows.size())}, DType::kInt64);
  const NDArray values = call("take", {stored, copied_to(places, stored.device())}, {{"mode", std::string("raise")}});
  return sparse::row_sparse(copied_to(values, Device{}), places, stored.shape());
}

}  // namespace headrace::kvstore
