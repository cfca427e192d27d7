// Store: rows of what is stored.

#include "base/check.h"
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
      check(ids && ids.ndim() == 1, ErrorKind::kValue,
            "kvstore row_sparse_pull: key {}: expected row_ids of one dimension, got shape {}", to_string(item.key),
            ids ? std::string(to_string(ids.shape())) : "of none");
  }
}

void Store::row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids, int priority) {
  check_rows(items, row_ids);
  const PriorityScope scope(Priority::kHigh, priority);
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<Part> part = entries_.parts_of("row_sparse_pull", items.subspan(i, 1));
    const std::vector<StandIn> stand_ins = stand_ins_for(part);
    const NDArray& stored = part[0].entry().stored;
    const std::span<const NDArray> outs = part[0].arrays;
    for (size_t k = 0; k < row_ids[i].size(); ++k) {
      const NDArray& given = row_ids[i][k];
      NDArray ids = copied_to(cast_to(given.detach(), DType::kInt64), stored.device());
      const NDArray rows = call("take", {stored, ids}, {{"mode", std::string("raise")}});
      const NDArray places = view_of(ids, {{1, ids.size()}, {ids.size(), 1}, ids.view()->offset()});
      const NDArray result = call("scatter_nd", {rows, places}, {{"shape", stored.shape()}});
      communicator_->broadcast(result, row_ids[i].size() == 1 ? outs : outs.subspan(k, 1), Extent::kInCache);
    }
    deliver(stand_ins, false);
  }
}

}  // namespace headrace::kvstore
