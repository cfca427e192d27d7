// Store: arrays on their way between devices and what is stored.

#include <algorithm>

#include "kvstore/buckets.h"
#include "kvstore/compression.h"
#include "kvstore/packing.h"
#include "kvstore/store.h"
#include "kvstore/update_sharing.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

bool is_at_one_place(std::span<const NDArray> arrays) {
  return std::ranges::all_of(arrays, [&](const NDArray& array) { return array.device() == arrays[0].device(); });
}

}  // namespace

// Of what is pushed.
Joining Store::joining() const noexcept {
  return communicator_->size() > 1 ? Joining::kEverywhere : Joining::kOnDevices;
}

// The stored array follows the values to their device.
void Store::move_stored(Entry& entry, Device home) const {
  if (entry.stored.device() != home) entry.stored = copied_to(entry.stored, home);
}

void Store::push_each(std::span<Part> parts) {
  for (Part& part : parts) {
    Entry& entry = part.entry();
    set_topic("push", part.key());
    if (part.is_sparse()) {
      if (updater_) keep_part_whole(part);
      push_sparse(part);
      continue;
    }
    const Device home = communicator_->home(part.arrays, entry.stored.device());
    move_stored(entry, home);
    if (compression_) part.arrays = send_compressed(*compression_, part.arrays, entry.residuals, home);
    if (updater_ && !shares_of(entry).empty()) {
      entry.has_shared_state = true;
      entry.reduced = communicator_->sharing()->reduce_share(reduction_, part.arrays, home);
      continue;
    }
    const bool has_room =
        entry.reduced && entry.reduced.device() == home && entry.reduced.dtype() == entry.stored.dtype() &&
        entry.reduced.storage_kind() == StorageKind::kDense && entry.reduced.shape() == entry.stored.shape();
    if (updater_ && !has_room) entry.reduced = NDArray::empty(entry.stored.shape(), entry.stored.dtype(), home);
    communicator_->reduce(reduction_, part.arrays, updater_ ? entry.reduced : entry.stored);
  }
}

void Store::push_together(std::span<Part> parts) {
  const Device home = communicator_->home(parts[0].arrays, parts[0].entry().stored.device());
  const NDArray reduced = room_for(stored_in(parts), home);
  set_topic("push", parts);
  communicator_->reduce(reduction_, joined(parts), reduced);
  const std::vector<NDArray> results = separate(reduced, stored_in(parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    Entry& entry = parts[i].entry();
    move_stored(entry, home);
    if (updater_)
      entry.reduced = results[i];
    else
      copy_into(entry.stored, results[i]);
  }
}

void Store::push_parts(std::span<Part> parts, int priority) {
  std::vector<int64_t> orders;
  for (const Part& part : parts) orders.push_back(part.entry().order);
  std::ranges::sort(orders);
  for (const auto [begin, end] : runs_of(parts, compression_ ? Joining::kNone : joining())) {
    const std::span<Part> run = parts.subspan(begin, end - begin);
    const auto turn = std::ranges::lower_bound(orders, run.back().entry().order) - orders.begin();
    const PriorityScope scope(Priority::kHigh, updater_ ? priority - static_cast<int>(turn) : priority);
    run.size() > 1 ? push_together(run) : push_each(run);
  }
}

NDArray Store::updated_part(const Entry& entry) const {
  const NDArray& stored = entry.stored;
  for (const Share& share : shares_of(entry)) {
    if (static_cast<int>(share.owner) != rank()) continue;
    return copied_to(view_of(stored, {{share.end - share.begin}, {1}, stored.view()->offset() + share.begin}),
                     stored.device());
  }
  return stored;
}

void Store::share_updated(const Part& part, const NDArray& updated) const {
  Entry& entry = part.entry();
  if (shares_of(entry).empty()) return;
  set_topic("update", part.key());
  entry.stored = communicator_->sharing()->gather_shares(updated, entry.stored.shape());
}

void Store::update_parts(std::span<Part> pushed, std::span<Part> pulled, Extent extent, bool keep, int priority) {
  sort_by_keys(pushed);
  sort_by_keys(pulled);
  for (size_t begin = 0, end = 0; begin < pushed.size(); begin = end) {
    std::vector<NDArray> updated;
    for (size_t bytes = 0; end < pushed.size() && bytes < kBucketBytes; ++end) {
      updated.push_back(updated_part(pushed[end].entry()));
      bytes += bytes_of(updated.back());
    }
    std::vector<Update> updates;
    for (size_t i = begin; i < end; ++i)
      updates.push_back({pushed[i].key(), pushed[i].entry().reduced, updated[i - begin]});
    const PriorityScope scope(Priority::kHigh, priority - static_cast<int>(begin));
    updater_(updates);
    for (size_t i = begin; i < end; ++i) share_updated(pushed[i], updated[i - begin]);
    if (!pulled.empty()) pull_parts(pulled.subspan(begin, end - begin), extent, keep);
  }
}

void Store::pull_together(std::span<const Part> parts, Extent extent, bool keep) {
  const std::vector<NDArray> stored = stored_in(parts);
  std::vector<NDArray> arrived;
  for (const NDArray& array : parts[0].arrays) arrived.push_back(room_for(stored, array.device()));
  communicator_->broadcast(join(stored), arrived, extent);
  const KeepScope scope(keep);
  take_apart(arrived, parts);
}

// What is stored is the same on all ranks: nothing of a pull is sent to others.
void Store::pull_parts(std::span<const Part> parts, Extent extent, bool keep) {
  for (const auto [begin, end] : runs_of(parts, Joining::kOnDevices)) {
    const std::span<const Part> run = parts.subspan(begin, end - begin);
    if (run.size() > 1 && is_at_one_place(stored_in(run)))
      pull_together(run, extent, keep);
    else
      for (const Part& part : run) pull_part(part, extent, keep);
  }
}

void Store::pull_part(const Part& part, Extent extent, bool keep) {
  if (!part.is_sparse()) return communicator_->broadcast(part.entry().stored, part.arrays, extent, keep);
  const KeepScope scope(keep);
  for (const NDArray& array : part.arrays) copy_into(array, part.entry().stored);
}

void Store::pushpull_together(std::span<Part> pushed, std::span<const Part> pulled, Extent extent) {
  const Device home = communicator_->home(pushed[0].arrays, pushed[0].entry().stored.device());
  const NDArray reduced = room_for(stored_in(pushed), home);
  std::vector<NDArray> arrived;
  for (const NDArray& array : pulled[0].arrays) arrived.push_back(room_for(stored_in(pushed), array.device()));
  set_topic("push", pushed);
  communicator_->reduce_and_broadcast(reduction_, joined(pushed), arrived, reduced, extent);
  take_apart(arrived, pulled);
  const std::vector<NDArray> results = separate(reduced, stored_in(pushed));
  for (size_t i = 0; i < pushed.size(); ++i) {
    move_stored(pushed[i].entry(), home);
    copy_into(pushed[i].entry().stored, results[i]);
  }
}

void Store::pushpull_parts(std::span<Part> pushed, std::span<const Part> pulled, Extent extent) {
  for (const auto [begin, end] : runs_of(pushed, joining())) {
    const std::span<Part> run = pushed.subspan(begin, end - begin);
    const std::span<const Part> outs_of_run = pulled.subspan(begin, end - begin);
    if (run.size() > 1 && runs_of(outs_of_run, joining()).size() == 1) {
      pushpull_together(run, outs_of_run, extent);
      continue;
    }
    for (size_t i = 0; i < run.size(); ++i) {
      Entry& entry = run[i].entry();
      if (run[i].is_sparse() || outs_of_run[i].is_sparse()) {
        push_each(run.subspan(i, 1));
        pull_part(outs_of_run[i], extent, false);
        continue;
      }
      move_stored(entry, communicator_->home(run[i].arrays, entry.stored.device()));
      set_topic("push", run[i].key());
      communicator_->reduce_and_broadcast(reduction_, run[i].arrays, outs_of_run[i].arrays, entry.stored, extent);
    }
  }
}

}  // namespace headrace::kvstore
