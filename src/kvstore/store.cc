#include "kvstore/store.h"

#include <algorithm>

#include "base/check.h"
#include "engine/runtime.h"
#include "kvstore/compression.h"
#include "kvstore/update_sharing.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

// Whether what is given back for one key lies where another key's values are: these must all be read before.
bool writes_what_others_read(std::span<const Part> pushed, std::span<const Part> pulled) {
  if (pushed.size() == 1) return false;
  std::vector<std::pair<const Storage*, size_t>> read;
  for (size_t i = 0; i < pushed.size(); ++i)
    for (const NDArray& array : pushed[i].arrays) read.emplace_back(array.view()->storage(), i);
  std::ranges::sort(read);
  for (size_t i = 0; i < pulled.size(); ++i)
    for (const NDArray& array : pulled[i].arrays) {
      const auto readers = std::ranges::equal_range(read, array.view()->storage(), {}, [](auto& r) { return r.first; });
      if (std::ranges::any_of(readers, [i](const auto& reader) { return reader.second != i; })) return true;
    }
  return false;
}

}  // namespace

std::unique_ptr<KVStore> make_store(std::string type, std::unique_ptr<Communicator> communicator) {
  check(communicator != nullptr, ErrorKind::kValue, "kvstore make_store: expected a communicator for '{}', got none",
        type);
  return std::make_unique<Store>(std::move(type), std::move(communicator));
}

bool Store::is_capable(Capability capability) const noexcept {
  switch (capability) {
    case Capability::kOptimizer:
      return true;
    case Capability::kCompression:
      return communicator_->compresses();
    case Capability::kAsynchronous:
      return false;
    case Capability::kDistributed:
      return communicator_->size() > 1;
  }
  return false;
}

// --- init, replace ---------------------------------------------------------------------------------------------------

// What rank 0 has in `value`, in new memory at the home of such a value.
NDArray Store::copy_of_root(const NDArray& value, Device stored, DType dtype) const {
  if (value.storage_kind() != StorageKind::kDense) return copy_of_rows(cast_to(value.detach(), dtype));
  const NDArray copy = copied_to(cast_to(contiguous(value.detach()), dtype), communicator_->home({&value, 1}, stored));
  communicator_->broadcast_root(copy);
  return copy;
}

void Store::set_topic(const char* operation, const Key& key) const {
  if (num_workers() > 1) communicator_->set_topic(fmt::format("{} of key {}", operation, to_string(key)));
}

void Store::set_topic(const char* operation, std::span<const Part> parts) const {
  if (num_workers() == 1) return;
  std::vector<std::string> keys;
  for (const Part& part : parts) keys.push_back(to_string(part.key()));
  if (keys.size() == 1) return set_topic(operation, parts[0].key());
  communicator_->set_topic(fmt::format("{} of keys {}", operation, fmt::join(keys, ", ")));
}

void Store::init(std::span<const Item> items) {
  entries_.check_new(items);
  std::vector<NDArray> stored;
  for (const Item& item : items) {
    set_topic("init", item.key);
    stored.push_back(copy_of_root(item.arrays[0], item.arrays[0].device(), item.arrays[0].dtype()));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const bool is_shared = may_share(items[i].key, stored[i]);
    entries_.add(items[i].key, std::move(stored[i])).may_be_shared = is_shared;
  }
}

void Store::replace(std::span<const Item> items) {
  raise_kept();
  for (const Part& part : entries_.single_parts_of("replace", items)) {
    Entry& entry = part.entry();
    set_topic("replace", part.key());
    entry.stored = copy_of_root(part.arrays[0], entry.stored.device(), entry.dtype);
  }
}

// --- push, pull ------------------------------------------------------------------------------------------------------

// With an updater, what is stored and pulled are parameters. They stay as they are when an update or a pull fails, so
// that a lost device costs nothing but what lies on it, and the next call tells.
void Store::raise_kept() const {
  if (keeps()) runtime().engine.raise_kept();
}

// In which the arrays of a push are reduced. One alone takes the place of what is stored as it is; several become what
// the key was inited with; an updater is given what it changes.
DType Store::reduced_dtype(const Part& part) const {
  if (updater_) return part.entry().stored.dtype();
  const bool is_alone = part.arrays.size() == 1 && communicator_->size() == 1;
  return is_alone ? part.arrays[0].dtype() : part.entry().dtype;
}

void Store::check_dtypes(std::span<const Part> parts) const {
  for (const Part& part : parts) {
    const DType dtype = reduced_dtype(part);
    reduction_.check_dtype(dtype);
    check(!compression_ || dtype == DType::kFloat32, ErrorKind::kType,
          "kvstore push: key {}: gradient compression is for float32, got {}", to_string(part.key()),
          dtype_name(dtype));
  }
}

void Store::convert_pushed(std::span<Part> parts) const {
  for (Part& part : parts) {
    const DType dtype = reduced_dtype(part);
    const auto convert = [dtype](NDArray& array) {
      if (array.dtype() != dtype) array = cast_to(array, dtype);
    };
    convert(part.entry().stored);
    std::ranges::for_each(part.arrays, convert);
  }
}

void Store::push(std::span<const Item> items, int priority) {
  raise_kept();
  std::vector<Part> parts = entries_.parts_of("push", items);
  check_dtypes(parts);
  const PriorityScope scope(Priority::kHigh, priority);
  convert_pushed(parts);
  push_parts(parts, priority);
  if (updater_) update_parts(parts, {}, Extent::kInCache, true, priority);
}

void Store::pull(std::span<const Item> items, int priority) {
  raise_kept();
  std::vector<Part> parts = entries_.parts_of("pull", items);
  const PriorityScope scope(Priority::kHigh, priority);
  const Extent extent = extent_of(parts);
  const std::vector<StandIn> stand_ins = stand_ins_for(parts);
  pull_parts(parts, extent, keeps() && stand_ins.empty());
  deliver(stand_ins, keeps());
}

void Store::pushpull(std::span<const Item> values, std::span<const Item> outs, int priority) {
  raise_kept();
  std::vector<Part> pushed = entries_.parts_of("pushpull", values);
  std::vector<Part> pulled = entries_.parts_of("pushpull", outs);
  const auto has_same_key = [](const Part& a, const Part& b) { return a.place == b.place; };
  check(std::ranges::equal(pushed, pulled, has_same_key), ErrorKind::kValue,
        "kvstore pushpull: the keys of values and outs differ; name the same keys in one order for both");
  check_dtypes(pushed);
  const PriorityScope scope(Priority::kHigh, priority);
  const Extent extent = extent_of(pulled);
  convert_pushed(pushed);
  const std::vector<StandIn> stand_ins = stand_ins_for(pulled);
  if (updater_) {
    push_parts(pushed, priority);
    update_parts(pushed, pulled, extent, stand_ins.empty(), priority);
  } else if (compression_ || writes_what_others_read(pushed, pulled)) {
    push_parts(pushed, priority);
    pull_parts(pulled, extent, false);
  } else {
    pushpull_parts(pushed, pulled, extent);
  }
  deliver(stand_ins, keeps());
}

void Store::agree(std::span<uint8_t> flags) { agree_on("agree", flags); }

void Store::agree_on(const std::string& topic, std::span<uint8_t> flags) {
  if (num_workers() == 1 || flags.empty()) return;
  const Shape shape{static_cast<int64_t>(flags.size())};
  const NDArray own = NDArray::from_host(flags.data(), shape, DType::kUint8);
  const NDArray greatest = NDArray::empty(shape, DType::kUint8);
  communicator_->set_topic(topic);
  communicator_->reduce(Reduction("max"), {&own, 1}, greatest);
  greatest.copy_to_host(flags.data());
}

void Store::agree_in(const std::string& what) {
  if (num_workers() == 1) return;
  communicator_->set_topic("agree in");
  communicator_->agree_in(what);
}

std::vector<Share> Store::shares_of(const Entry& entry) const {
  if (!shares_updates() || !entry.may_be_shared) return {};
  return communicator_->sharing()->shares(entry.stored);
}

bool Store::may_share(const Key& key, const NDArray& stored) {
  UpdateSharing* const sharing = communicator_->sharing();
  if (!sharing || stored.storage_kind() != StorageKind::kDense || sharing->shares(stored).empty()) return false;
  uint8_t is_elsewhere = stored.device().is_host() ? 0 : 1;  // accelerators sum whole arrays by their own library
  agree_on(fmt::format("place of key {}", to_string(key)), {&is_elsewhere, 1});
  return is_elsewhere == 0;
}

void Store::keep_part_whole(const Part& part) const {
  Entry& entry = part.entry();
  if (shares_of(entry).empty()) return;
  check(!entry.has_shared_state, ErrorKind::kRuntime,
        "kvstore push: key {}: a row_sparse gradient came after dense ones, of which each rank has updated its share; "
        "push either, or create an 'mpi' store",
        to_string(part.key()));
  entry.may_be_shared = false;
}

NDArray Store::gather_shares(const Key& key, const NDArray& share) {
  const Entry& entry = entries_.entry_of("gather_shares", key);
  const std::vector<Share> shares = shares_of(entry);
  const auto own = std::ranges::find(shares, static_cast<size_t>(rank()), &Share::owner);
  check(own != shares.end() && share.shape() == Shape{own->end - own->begin}, ErrorKind::kValue,
        "kvstore gather_shares: key {}: expected this rank's share of a key that the ranks share, got shape {}",
        to_string(key), to_string(share.shape()));
  set_topic("state", key);
  return communicator_->sharing()->gather_shares(share, entry.stored.shape());
}

std::vector<Share> Store::shares(const Key& key) { return shares_of(entries_.entry_of("shares", key)); }

// --- settings --------------------------------------------------------------------------------------------------------

void Store::set_reduction(Combine combine) {
  check(static_cast<bool>(combine), ErrorKind::kType, "kvstore set_reduction: expected a name or a function, got none");
  keep_whole();
  set(Reduction(std::move(combine)));
}

void Store::set(Reduction reduction) {
  check(!compression_ || reduction.is_linear(), ErrorKind::kValue,
        "kvstore set_reduction: the store compresses gradients, which '{}' cannot make up for; use sum or mean",
        reduction.name());
  reduction_ = std::move(reduction);
}

void Store::set_gradient_compression(const TwoBitCompression& compression) {
  check(
      is_capable(Capability::kCompression), ErrorKind::kValue,
      "kvstore set_gradient_compression: Gradient compression is not supported for this type of kvstore: a '{}' store "
      "reduces in host memory; create a 'device' store",
      type_);
  check_compression(compression);
  check(reduction_.is_linear(), ErrorKind::kValue,
        "kvstore set_gradient_compression: compression goes with the reductions sum and mean, the store has '{}'",
        reduction_.name());
  compression_ = compression;
}

}  // namespace headrace::kvstore
