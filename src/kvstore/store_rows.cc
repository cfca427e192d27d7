// Store: row_sparse arrays, and rows of what is stored.

#include "base/check.h"
#include "headrace/sparse.hpp"
#include "kvstore/rows.h"
#include "kvstore/store.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {

void Store::check_rows(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids) {
  check(items.size() == row_ids.size(), ErrorKind::kValue,
        "kvstore row_sparse_pull: expected row_ids for each of {} keys, got them for {}", items.size(), row_ids.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const std::vector<Part> part = entries_.parts_of("row_sparse_pull", items.subspan(i, 1));
    check(row_ids[i].size() == 1 || row_ids[i].size() == item.arrays.size(), ErrorKind::kValue,
          "kvstore row_sparse_pull: key {}: expected one array of row_ids or one for each of {} arrays, got {}",
          to_string(item.key), item.arrays.size(), row_ids[i].size());
    check(part[0].arrays[0].ndim() > 0, ErrorKind::kValue, "kvstore row_sparse_pull: key {}: a scalar has no rows",
          to_string(item.key));
    for (const NDArray& ids : row_ids[i])
      check(ids && ids.storage_kind() == StorageKind::kDense, ErrorKind::kValue,
            "kvstore row_sparse_pull: key {}: expected a dense array of row_ids, got {}", to_string(item.key),
            ids ? storage_kind_name(ids.storage_kind()) : "none");
  }
}

void Store::row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids, int priority) {
  check_rows(items, row_ids);
  const PriorityScope scope(Priority::kHigh, priority);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::vector<Part> part = entries_.parts_of("row_sparse_pull", items.subspan(i, 1));
    const std::span<const NDArray> outs = part[0].arrays;
    NDArray rows;
    for (size_t k = 0; k < outs.size(); ++k) {
      if (k < row_ids[i].size()) rows = rows_of(part[0].entry().stored, row_ids[i][k]);
      copy_into(outs[k], rows);
    }
  }
}

// Shares the rows, until one of the two is changed.
NDArray Store::copy_of_rows(const NDArray& rows) const {
  const NDArray none = sparse::zeros(StorageKind::kRowSparse, rows.shape(), rows.dtype());
  return communicator_->gather_rows(rank() == 0 ? copied_to(rows, Device{}) : none)[0];
}

void Store::push_sparse(const Part& part) const {
  check(!compression_ && reduction_.name() == "sum", ErrorKind::kRuntime,
        "kvstore push: key {}: row_sparse arrays are summed, and not compressed; push dense ones",
        to_string(part.key()));
  const auto summed = [](std::span<const NDArray> arrays) {
    NDArray sum = copied_to(arrays[0], Device{});
    for (const NDArray& one : arrays.subspan(1)) sum = call("_grad_add", {sum, copied_to(one, Device{})});
    return sum;
  };
  const NDArray own = summed(part.arrays);
  check(num_workers() == 1 || own.storage_kind() == StorageKind::kRowSparse, ErrorKind::kRuntime,
        "kvstore push: key {}: some of the arrays are row_sparse and some dense; ranks exchange either",
        to_string(part.key()));
  (updater_ ? part.entry().reduced : part.entry().stored) = summed(communicator_->gather_rows(own));
}

}  // namespace headrace::kvstore
