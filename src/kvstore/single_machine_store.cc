#include "kvstore/single_machine_store.h"

#include <algorithm>

#include "base/check.h"
#include "engine/runtime.h"
#include "kvstore/buckets.h"
#include "kvstore/packing.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

std::string type_text(const NDArray& array) {
  return fmt::format("shape {} of {}", to_string(array.shape()), dtype_name(array.dtype()));
}

constexpr size_t kCacheBytes = size_t{16} << 20;  // more than this is not there any more when it is read again

// Of parts of a call, below: what is stored for each.
template <class Part>
std::vector<NDArray> stored_in(std::span<Part> parts) {
  std::vector<NDArray> stored;
  for (const Part& part : parts) stored.push_back(part.entry->second.stored);
  return stored;
}

// Their arrays, joined on each device.
template <class Part>
std::vector<NDArray> joined(std::span<Part> parts) {
  std::vector<NDArray> all;
  for (size_t k = 0; k < parts[0].arrays.size(); ++k) {
    std::vector<NDArray> here;
    for (const Part& part : parts) here.push_back(part.arrays[k]);
    all.push_back(join(here));
  }
  return all;
}

// Writes what arrived on each device into their arrays there.
template <class Part>
void take_apart(std::span<const NDArray> arrived, std::span<Part> parts) {
  for (size_t k = 0; k < arrived.size(); ++k) {
    const std::vector<NDArray> results = separate(arrived[k], stored_in(parts));
    for (size_t i = 0; i < parts.size(); ++i) copy_into(parts[i].arrays[k], results[i]);
  }
}

struct Run {
  size_t begin, end;
};

// Neighbours that travel together, as many as make a bucket; or each alone unless they `may`.
template <class Part>
std::vector<Run> runs_of(std::span<Part> parts, bool may) {
  std::vector<Run> runs;
  size_t bytes = 0;  // of the last run, on each device
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool joins = may && i > 0 && bytes < kBucketBytes && travel_together(parts[i - 1].arrays, parts[i].arrays);
    if (!joins) {
      runs.push_back({i, i});
      bytes = 0;
    }
    runs.back().end = i + 1;
    bytes += bytes_of(parts[i].arrays[0]);
  }
  return runs;
}

// An array of a call, and the one that takes its place while the store works in another dtype.
struct StandIn {
  NDArray given, used;
};

// Puts new arrays of what is stored, which have nothing to keep, in place of those of other dtypes that a call wants to
// have written.
template <class Part>
std::vector<StandIn> stand_ins_for(std::span<Part> parts) {
  std::vector<StandIn> made;
  for (Part& part : parts) {
    const DType dtype = part.entry->second.stored.dtype();
    for (NDArray& array : part.arrays) {
      if (array.dtype() == dtype) continue;
      made.push_back({array, NDArray::empty(array.shape(), dtype, array.device())});
      array = made.back().used;
    }
  }
  return made;
}

// With `keeps`, an array whose stand-in has failed stays as it is.
void deliver(std::span<const StandIn> stand_ins, bool keeps) {
  const KeepScope keep(keeps);
  for (const StandIn& one : stand_ins) copy_into(one.given, one.used);
}

bool is_at_one_place(std::span<const NDArray> arrays) {
  return std::ranges::all_of(arrays, [&](const NDArray& array) { return array.device() == arrays[0].device(); });
}

}  // namespace

std::string to_string(const Key& key) {
  if (const auto* number = std::get_if<int64_t>(&key)) return fmt::format("{}", *number);
  return fmt::format("'{}'", std::get<std::string>(key));
}

// Of a call that writes these arrays.
Extent SingleMachineStore::extent_of(std::span<const Part> parts) {
  size_t bytes = 0;
  for (const Part& part : parts)
    for (const NDArray& array : part.arrays) bytes += bytes_of(array);
  return bytes > kCacheBytes ? Extent::kBeyondCaches : Extent::kInCache;
}

// --- what is wrong with a call ---------------------------------------------------------------------------------------

void SingleMachineStore::check_key_type(const char* operation, const Key& key) const {
  if (entries_.empty()) return;
  const Key& known = entries_.begin()->first;
  check(key.index() == known.index(), ErrorKind::kRuntime,
        "kvstore {}: Mixed key types are not allowed: key {} among keys such as {}; use numbers or texts for all",
        operation, to_string(key), to_string(known));
}

SingleMachineStore::Entries::value_type& SingleMachineStore::find(const char* operation, const Key& key) {
  check_key_type(operation, key);
  const auto found = entries_.find(key);
  check(found != entries_.end(), ErrorKind::kRuntime,
        "kvstore {}: key {} has not been inited; call init or broadcast "
        "with it first",
        operation, to_string(key));
  return *found;
}

void SingleMachineStore::check_array(const char* operation, const Entries::value_type& entry, const NDArray& array,
                                     size_t place) const {
  const NDArray& stored = entry.second.stored;
  check(static_cast<bool>(array), ErrorKind::kType, "kvstore {}: key {}: array {} is missing", operation,
        to_string(entry.first), place);
  check(array.shape() == stored.shape(), ErrorKind::kValue,
        "kvstore {}: key {}: stored is {}, but array {} has {}; all arrays of a key have the shape it was inited with",
        operation, to_string(entry.first), type_text(stored), place, type_text(array));
}

std::vector<SingleMachineStore::Part> SingleMachineStore::parts_of(const char* operation, std::span<const Item> items) {
  std::vector<Part> parts;
  std::map<const Entry*, size_t> known;
  for (const Item& item : items) {
    Entries::value_type& entry = find(operation, item.key);
    check(!item.arrays.empty(), ErrorKind::kValue, "kvstore {}: key {}: there are no arrays; give one for each device",
          operation, to_string(item.key));
    const auto [place, is_new] = known.try_emplace(&entry.second, parts.size());
    if (is_new) parts.push_back({&entry, {}});
    std::vector<NDArray>& arrays = parts[place->second].arrays;
    for (const NDArray& array : item.arrays) {
      check_array(operation, entry, array, arrays.size());
      arrays.push_back(array.detach());
    }
  }
  return parts;
}

void SingleMachineStore::check_dtypes(std::span<const Part> parts) const {
  for (const Part& part : parts) {
    const DType dtype = reduced_dtype(part);
    reduction_.check_dtype(dtype);
    check(!compression_ || dtype == DType::kFloat32, ErrorKind::kType,
          "kvstore push: key {}: gradient compression is for float32, got {}", to_string(part.key()),
          dtype_name(dtype));
  }
}

// --- init ------------------------------------------------------------------------------------------------------------

void SingleMachineStore::init(std::span<const Item> items) {
  Entries added;
  for (const Item& item : items) {
    check_key_type("init", item.key);
    check(item.key.index() == items[0].key.index(), ErrorKind::kRuntime,
          "kvstore init: Mixed key types are not allowed: keys {} and {}; use numbers or texts for all",
          to_string(items[0].key), to_string(item.key));
    check(item.arrays.size() == 1 && item.arrays[0], ErrorKind::kValue,
          "kvstore init: key {}: expected one array, got {}", to_string(item.key), item.arrays.size());
    const bool is_new = !entries_.contains(item.key) && added.emplace(item.key, Entry{}).second;
    check(is_new, ErrorKind::kRuntime,
          "kvstore init: duplicate init of key {}. Please double check if you called kv.init or kv.broadcast with this "
          "key multiple times",
          to_string(item.key));
  }
  for (const Item& item : items) {
    const Device home = communicator_->home(item.arrays, item.arrays[0].device());
    const auto* number = std::get_if<int64_t>(&item.key);
    added[item.key] = {.order = number ? *number : static_cast<int64_t>(entries_.size()) + (&item - items.data()),
                       .dtype = item.arrays[0].dtype(),
                       .stored = copied_to(contiguous(item.arrays[0].detach()), home)};
  }
  entries_.merge(added);
}

void SingleMachineStore::sort_by_keys(std::span<Part> parts) {
  std::ranges::sort(parts, {}, [](const Part& part) { return part.entry->second.order; });
}

// In which the arrays of a push are reduced. One alone takes the place of what is stored as it is; several become what
// the key was inited with; an updater is given what it changes.
DType SingleMachineStore::reduced_dtype(const Part& part) const {
  if (updater_) return part.entry->second.stored.dtype();
  return part.arrays.size() == 1 ? part.arrays[0].dtype() : part.entry->second.dtype;
}

void SingleMachineStore::convert_pushed(std::span<Part> parts) const {
  for (Part& part : parts) {
    const DType dtype = reduced_dtype(part);
    const auto convert = [dtype](NDArray& array) {
      if (array.dtype() != dtype) array = cast_to(array, dtype);
    };
    convert(part.entry->second.stored);
    std::ranges::for_each(part.arrays, convert);
  }
}

// The stored array follows the values to their device.
void SingleMachineStore::move_stored(Entry& entry, Device home) const {
  if (entry.stored.device() != home) entry.stored = copied_to(entry.stored, home);
}

// What has arrived at home of values that are sent at two bits an element. A value that is at home already is
// quantised as well, so that all devices count alike.
std::vector<NDArray> SingleMachineStore::compressed(Entry& entry, std::span<const NDArray> values, Device home) const {
  entry.residuals.resize(values.size());
  std::vector<NDArray> arrived;
  for (size_t i = 0; i < values.size(); ++i) {
    const NDArray value = contiguous(values[i]);
    NDArray& residual = entry.residuals[i];
    if (!residual)
      residual = full(value.shape(), 0, value.dtype(), value.device());
    else if (residual.device() != value.device())
      residual = copied_to(residual, value.device());
    NDArray packed = call("_two_bit_quantize", {value, residual}, {{"threshold", compression_->threshold}});
    if (packed.device() != home) packed = copied_to(packed, home);
    arrived.push_back(
        call("_two_bit_dequantize", {packed}, {{"threshold", compression_->threshold}, {"shape", value.shape()}}));
  }
  return arrived;
}

// --- on the way ------------------------------------------------------------------------------------------------------

void SingleMachineStore::push_each(std::span<Part> parts) {
  for (Part& part : parts) {
    Entry& entry = part.entry->second;
    const Device home = communicator_->home(part.arrays, entry.stored.device());
    move_stored(entry, home);
    if (compression_) part.arrays = compressed(entry, part.arrays, home);
    const bool has_room =
        entry.reduced && entry.reduced.device() == home && entry.reduced.dtype() == entry.stored.dtype();
    if (updater_ && !has_room) entry.reduced = NDArray::empty(entry.stored.shape(), entry.stored.dtype(), home);
    communicator_->reduce(reduction_, part.arrays, updater_ ? entry.reduced : entry.stored);
  }
}

void SingleMachineStore::push_together(std::span<Part> parts) {
  const Device home = communicator_->home(parts[0].arrays, parts[0].entry->second.stored.device());
  const NDArray reduced = room_for(stored_in(parts), home);
  communicator_->reduce(reduction_, joined(parts), reduced);
  const std::vector<NDArray> results = separate(reduced, stored_in(parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    Entry& entry = parts[i].entry->second;
    move_stored(entry, home);
    if (updater_)
      entry.reduced = results[i];
    else
      copy_into(entry.stored, results[i]);
  }
}

void SingleMachineStore::push_parts(std::span<Part> parts, int priority) {
  std::vector<int64_t> orders;
  for (const Part& part : parts) orders.push_back(part.entry->second.order);
  std::ranges::sort(orders);
  for (const auto [begin, end] : runs_of(parts, !compression_)) {
    const std::span<Part> run = parts.subspan(begin, end - begin);
    const auto turn = std::ranges::lower_bound(orders, run.back().entry->second.order) - orders.begin();
    const PriorityScope scope(Priority::kHigh, updater_ ? priority - static_cast<int>(turn) : priority);
    run.size() > 1 ? push_together(run) : push_each(run);
  }
}

void SingleMachineStore::update_parts(std::span<Part> pushed, std::span<Part> pulled, Extent extent, bool keep,
                                      int priority) {
  sort_by_keys(pushed);
  sort_by_keys(pulled);
  for (size_t begin = 0, end = 0; begin < pushed.size(); begin = end) {
    std::vector<Update> updates;
    for (size_t bytes = 0; end < pushed.size() && bytes < kBucketBytes; ++end) {
      const Entry& entry = pushed[end].entry->second;
      updates.push_back({pushed[end].key(), entry.reduced, entry.stored});
      bytes += bytes_of(entry.stored);
    }
    const PriorityScope scope(Priority::kHigh, priority - static_cast<int>(begin));
    updater_(updates);
    if (!pulled.empty()) pull_parts(pulled.subspan(begin, end - begin), extent, keep);
  }
}

void SingleMachineStore::pull_together(std::span<const Part> parts, Extent extent, bool keep) {
  const std::vector<NDArray> stored = stored_in(parts);
  std::vector<NDArray> arrived;
  for (const NDArray& array : parts[0].arrays) arrived.push_back(room_for(stored, array.device()));
  communicator_->broadcast(join(stored), arrived, extent);
  const KeepScope scope(keep);
  take_apart(arrived, parts);
}

void SingleMachineStore::pull_parts(std::span<const Part> parts, Extent extent, bool keep) {
  for (const auto [begin, end] : runs_of(parts, true)) {
    const std::span<const Part> run = parts.subspan(begin, end - begin);
    if (run.size() > 1 && is_at_one_place(stored_in(run)))
      pull_together(run, extent, keep);
    else
      for (const Part& part : run) communicator_->broadcast(part.entry->second.stored, part.arrays, extent, keep);
  }
}

void SingleMachineStore::pushpull_together(std::span<Part> pushed, std::span<const Part> pulled, Extent extent) {
  const Device home = communicator_->home(pushed[0].arrays, pushed[0].entry->second.stored.device());
  const NDArray reduced = room_for(stored_in(pushed), home);
  std::vector<NDArray> arrived;
  for (const NDArray& array : pulled[0].arrays) arrived.push_back(room_for(stored_in(pushed), array.device()));
  communicator_->reduce_and_broadcast(reduction_, joined(pushed), arrived, reduced, extent);
  take_apart(arrived, pulled);
  const std::vector<NDArray> results = separate(reduced, stored_in(pushed));
  for (size_t i = 0; i < pushed.size(); ++i) {
    move_stored(pushed[i].entry->second, home);
    copy_into(pushed[i].entry->second.stored, results[i]);
  }
}

// --- push, pull ------------------------------------------------------------------------------------------------------

// With an updater, what is stored and pulled are parameters. They stay as they are when an update or a pull fails, so
// that a lost device costs nothing but what lies on it, and the next call tells.
void SingleMachineStore::raise_kept() const {
  if (keeps()) runtime().engine.raise_kept();
}

void SingleMachineStore::push(std::span<const Item> items, int priority) {
  raise_kept();
  std::vector<Part> parts = parts_of("push", items);
  check_dtypes(parts);
  const PriorityScope scope(Priority::kHigh, priority);
  convert_pushed(parts);
  push_parts(parts, priority);
  if (updater_) update_parts(parts, {}, Extent::kInCache, true, priority);
}

void SingleMachineStore::pull(std::span<const Item> items, int priority) {
  raise_kept();
  std::vector<Part> parts = parts_of("pull", items);
  const PriorityScope scope(Priority::kHigh, priority);
  const Extent extent = extent_of(parts);
  const std::vector<StandIn> stand_ins = stand_ins_for(std::span(parts));
  pull_parts(parts, extent, keeps() && stand_ins.empty());
  deliver(stand_ins, keeps());
}

void SingleMachineStore::pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) {
  raise_kept();
  std::vector<Part> pushed = parts_of("pushpull", values);
  std::vector<Part> pulled = parts_of("pushpull", outs);
  const auto has_same_key = [](const Part& a, const Part& b) { return a.entry == b.entry; };
  check(std::ranges::equal(pushed, pulled, has_same_key), ErrorKind::kValue,
        "kvstore pushpull: the keys of values and outs differ; name the same keys in one order for both");
  check_dtypes(pushed);
  const PriorityScope scope(Priority::kHigh, priority);
  const Extent extent = extent_of(pulled);
  convert_pushed(pushed);
  const std::vector<StandIn> stand_ins = stand_ins_for(std::span(pulled));
  if (updater_) {
    push_parts(pushed, priority);
    update_parts(pushed, pulled, extent, stand_ins.empty(), priority);
  } else if (compression_) {
    push_parts(pushed, priority);
    pull_parts(pulled, extent, false);
  } else {
    pushpull_parts(pushed, pulled, extent);
  }
  deliver(stand_ins, keeps());
}

void SingleMachineStore::pushpull_parts(std::span<Part> all, std::span<const Part> pulled, Extent extent) {
  for (const auto [begin, end] : runs_of(all, true)) {
    const std::span<Part> run = all.subspan(begin, end - begin);
    const std::span<const Part> outs_of_run = pulled.subspan(begin, end - begin);
    if (run.size() > 1 && runs_of(outs_of_run, true).size() == 1) {
      pushpull_together(run, outs_of_run, extent);
      continue;
    }
    for (size_t i = 0; i < run.size(); ++i) {
      Entry& entry = run[i].entry->second;
      move_stored(entry, communicator_->home(run[i].arrays, entry.stored.device()));
      communicator_->reduce_and_broadcast(reduction_, run[i].arrays, outs_of_run[i].arrays, entry.stored, extent);
    }
  }
}

void SingleMachineStore::row_sparse_pull(std::span<const Item> items, std::span<const std::vector<NDArray>> row_ids,
                                         int priority) {
  check(items.size() == row_ids.size(), ErrorKind::kValue,
        "kvstore row_sparse_pull: expected row_ids for each of {} keys, got them for {}", items.size(), row_ids.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const std::vector<Part> part = parts_of("row_sparse_pull", items.subspan(i, 1));
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
  const PriorityScope scope(Priority::kHigh, priority);
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<Part> part = parts_of("row_sparse_pull", items.subspan(i, 1));
    const std::vector<StandIn> stand_ins = stand_ins_for(std::span(part));
    const NDArray& stored = part[0].entry->second.stored;
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

// --- settings --------------------------------------------------------------------------------------------------------

void SingleMachineStore::set_reduction(Combine combine) {
  check(static_cast<bool>(combine), ErrorKind::kType, "kvstore set_reduction: expected a name or a function, got none");
  set(Reduction(std::move(combine)));
}

void SingleMachineStore::set(Reduction reduction) {
  check(!compression_ || reduction.is_linear(), ErrorKind::kValue,
        "kvstore set_reduction: the store compresses gradients, which '{}' cannot make up for; use sum or mean",
        reduction.name());
  reduction_ = std::move(reduction);
}

void SingleMachineStore::set_gradient_compression(const TwoBitCompression& compression) {
  check(
      communicator_->compresses(), ErrorKind::kValue,
      "kvstore set_gradient_compression: Gradient compression is not supported for this type of kvstore: a '{}' store "
      "reduces in host memory; create a 'device' store",
      type_);
  check(compression.threshold > 0, ErrorKind::kValue,
        "kvstore set_gradient_compression: threshold must be greater than 0, got {}", compression.threshold);
  check(reduction_.is_linear(), ErrorKind::kValue,
        "kvstore set_gradient_compression: compression goes with the reductions sum and mean, the store has '{}'",
        reduction_.name());
  compression_ = compression;
}

}  // namespace headrace::kvstore
