#include "kvstore/collective_communicator.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "collective/operations.h"
#include "collective/wire.h"
#include "headrace/sparse.hpp"
#include "kvstore/buckets.h"
#include "kvstore/local_communicator.h"
#include "kvstore/update_sharing.h"
#include "op/invoke.h"

namespace headrace::kvstore {
namespace {

using collective::Fold;

// None: a function of the program.
std::optional<Fold> fold_of(const Reduction& reduction) {
  const std::string_view name = reduction.undivided().name();
  if (name == "sum") return Fold::kSum;
  if (name == "max") return Fold::kMax;
  if (name == "min") return Fold::kMin;
  return std::nullopt;
}

class CollectiveCommunicator final : public HierarchicalCommunicator, public UpdateSharing {
 public:
  CollectiveCommunicator(collective::Group& group, std::unique_ptr<Communicator> devices, bool shares_updates)
      : HierarchicalCommunicator(std::move(devices)),
        group_(group),
        number_(group.take_number()),
        shares_updates_(shares_updates) {}

  int rank() const noexcept override { return group_.rank(); }
  int size() const noexcept override { return group_.size(); }
  void agree_in(const std::string& what) override { group_.state(topic_, what); }
  void barrier() override { collective::barrier(group_); }
  bool others_go_on() override { return group_.others_go_on(); }
  void set_topic(const std::string& topic) override { topic_ = fmt::format("{} (store {})", topic, number_); }

  void broadcast_root(const NDArray& value) override {
    if (size() > 1) copy_into(value, collective::broadcast(group_, topic_, value, 0));
  }

  std::vector<NDArray> gather_rows(const NDArray& rows) override {
    if (size() == 1) return {rows};
    const NDArray own_numbers = sparse::indices_of(rows), own_values = sparse::values_of(rows);
    const int64_t own = own_numbers.size();
    const auto counts = collective::gather_bytes(group_, topic_, std::as_bytes(std::span(&own, 1)));
    const NDArray numbers = collective::all_gather(group_, topic_, own_numbers);
    const NDArray values = collective::all_gather(group_, topic_, own_values);
    std::vector<NDArray> all;
    int64_t begin = 0;
    for (const std::vector<std::byte>& bytes : counts) {
      int64_t count = 0;
      std::memcpy(&count, bytes.data(), sizeof(count));
      const auto part = [&](const NDArray& joined) {
        return call("slice_axis", {joined}, {{"axis", int64_t{0}}, {"begin", begin}, {"end", begin + count}});
      };
      all.push_back(count == 0 ? sparse::zeros(StorageKind::kRowSparse, rows.shape(), rows.dtype())
                               : sparse::row_sparse(part(values), part(numbers), rows.shape()));
      begin += count;
    }
    return all;
  }

  UpdateSharing* sharing() noexcept override { return shares_updates_ && size() > 1 ? this : nullptr; }

  // What goes alone is shared; smaller arrays go together.
  std::vector<Share> shares(const NDArray& array) const override {
    const size_t bytes = bytes_of(array);
    if (bytes < kBucketBytes || bytes >= collective::kMostBytes) return {};
    std::vector<Share> made;
    for (const collective::Portion& own : group_.machines().shares(static_cast<size_t>(array.size()))) {
      const auto begin = static_cast<int64_t>(own.begin);
      made.push_back({made.size(), begin, begin + static_cast<int64_t>(own.size)});
    }
    std::ranges::stable_sort(made, {}, &Share::begin);
    return made;
  }

  NDArray reduce_share(const Reduction& reduction, std::span<const NDArray> values, Device home) override {
    const size_t count = count_of(reduction, values.size());
    NDArray here = values[0];
    if (values.size() > 1 || here.device() != home) {
      here = NDArray::empty(values[0].shape(), values[0].dtype(), home);
      reduce_here(reduction.undivided(), values, here);
    }
    const NDArray share = collective::reduce_share(group_, topic_, *fold_of(reduction), here);
    reduction.finish(share, count);
    return share;
  }

  NDArray gather_shares(const NDArray& share, const Shape& shape) override {
    return collective::gather_shares(group_, topic_, share, shape);
  }

  // A single array in host memory is read where it lies, and what comes is shared by those that receive it.
  void reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                            std::span<const NDArray> results, const NDArray& stored, Extent extent) override {
    const std::optional<Fold> fold = fold_of(reduction);
    if (size() == 1 || values.size() > 1 || !fold || reduction.divides() || !is_on_host(values) ||
        !stored.device().is_host())
      return HierarchicalCommunicator::reduce_and_broadcast(reduction, values, results, stored, extent);
    std::vector<NDArray> receivers(results.begin(), results.end());
    receivers.push_back(stored);
    broadcast(collective::all_reduce(group_, topic_, *fold, values[0]), receivers, extent, false);
  }

 protected:
  void allreduce(const Reduction& reduction, const NDArray& value) override {
    if (const std::optional<Fold> fold = fold_of(reduction))
      return copy_into(value, collective::all_reduce(group_, topic_, *fold, value));
    const NDArray all = collective::all_gather(group_, topic_, call("expand_dims", {value}, {{"axis", int64_t{0}}}));
    const auto of_rank = [&](int64_t rank) {
      return view_of(all, {value.shape(), contiguous_strides(value.shape()), rank * value.size()});
    };
    copy_into(value, of_rank(0));
    for (int64_t rank = 1; rank < size(); ++rank) reduction.combine_into(value, of_rank(rank));
  }

 private:
  collective::Group& group_;
  const int number_;
  const bool shares_updates_;
  std::string topic_;
};

}  // namespace

std::unique_ptr<Communicator> make_collective_communicator(collective::Group& group,
                                                           std::unique_ptr<Communicator> devices, bool shares_updates) {
  return std::make_unique<CollectiveCommunicator>(group, std::move(devices), shares_updates);
}

}  // namespace headrace::kvstore
