#include "ndarray/storage.h"

#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "device/observer.h"
#include "device/registry.h"
#include "device/stream.h"
#include "engine/runtime.h"
#include "ndarray/sparse_parts.h"
#include "ndarray/storage_extras.h"
#include "ndarray/strided_copy.h"

namespace headrace {
namespace {

void copy_bytes(void* to, const void* from, size_t bytes) {
  const Shape line{static_cast<int64_t>(bytes)};
  strided_copy(to, {1}, from, {1}, line, DType::kUint8);
}

}  // namespace

Storage::~Storage() {
  if (PushObserver* const observer = runtime().engine.observer()) [[unlikely]]
    observer->forgotten(&var_);
  if (is_borrowed_) {
    free_owner_(owner_);
    return;
  }
  give_back(std::unique_ptr<StorageExtras>(extras_.load(std::memory_order_acquire)),
            data_.load(std::memory_order_acquire));
}

void Storage::give_back(std::unique_ptr<StorageExtras> extras, void* memory) noexcept {
  if (!extras || !extras->memory) allocator_->release(memory, bytes_);
}

void Storage::check_reach() const {
  check(
      current_device() == device_, ErrorKind::kRuntime,
      "memory of {} was touched from {}: an accelerator's memory can only be used by work on its own streams. Copy the "
      "array with copyto(cpu()) or as_in_context(cpu()), or read it with asnumpy()",
      to_string(device_), to_string(current_device()));
  if (const void* const block = is_borrowed_ ? nullptr : data_.load(std::memory_order_acquire))
    check_contents(device_, block);
}

const SparseParts& Storage::parts() const {
  check(kind_ != StorageKind::kDense && owner_, ErrorKind::kRuntime, "the array has no sparse parts");
  return *static_cast<const SparseParts*>(owner_);
}

void Storage::set_parts(SparseParts parts) {
  auto fresh = std::make_unique<SparseParts>(std::move(parts));
  free_parts(std::exchange(owner_, fresh.release()));
}

void Storage::free_parts(void* parts) { delete static_cast<SparseParts*>(parts); }

void* Storage::allocate() {
  if (kind_ != StorageKind::kDense) [[unlikely]]
    fail(ErrorKind::kRuntime, "a {} array was read as a dense one", storage_kind_name(kind_));
  void* mine = allocator_->allocate(bytes_);
  if (marks_.load(std::memory_order_relaxed) & kZeros) std::memset(mine, 0, bytes_);
  void* expected = nullptr;
  if (data_.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) return mine;
  allocator_->release(mine, bytes_);
  return expected;
}

StorageExtras& Storage::extras() {
  if (StorageExtras* known = extras_.load(std::memory_order_acquire)) return *known;
  auto mine = std::make_unique<StorageExtras>();
  StorageExtras* expected = nullptr;
  const bool is_first = extras_.compare_exchange_strong(expected, mine.get(), std::memory_order_acq_rel);
  return is_first ? *mine.release() : *expected;
}

LayoutCopies* Storage::copies() { return is_borrowed_ || is_exposed() ? nullptr : &extras().copies; }

IntrusivePtr<SharedMemory> Storage::lend() {
  StorageExtras& mine = extras();
  std::lock_guard guard(mine.lock);
  if (!mine.memory) mine.memory = IntrusivePtr<SharedMemory>(new SharedMemory(*allocator_, data(), bytes_));
  return mine.memory;
}

bool Storage::share(Storage& source) {
  if (this == &source || bytes_ != source.bytes_ || !may_share() || !source.may_share()) return false;
  // expose() sets its mark and looks for this one, in the opposite order: at least one side sees the other.
  marks_.fetch_or(kShared, std::memory_order_seq_cst);
  source.marks_.fetch_or(kShared, std::memory_order_seq_cst);
  if (!may_share() || !source.may_share()) return false;
  auto extras = std::make_unique<StorageExtras>();
  extras->memory = source.lend();
  std::unique_ptr<StorageExtras> old_extras(extras_.load(std::memory_order_acquire));
  void* const old_memory = data_.exchange(extras->memory->data(), std::memory_order_acq_rel);
  extras_.store(extras.release(), std::memory_order_release);
  give_back(std::move(old_extras), old_memory);
  return true;
}

void Storage::take_contents(Storage& source) {
  if (this == &source || share(source)) return;
  begin_write(true);
  copy_bytes(data(), source.data(), bytes_);
}

// While work is launched, device code that was launched before it may still use what is given up here: of a device's
// memory it is given up when the turn of the work has come, of the host's when the work is over.
void Storage::begin_write_slowly(bool replaces) {
  if (is_launching() && !device_.is_host())
    return run_on_device({}, [storage = StoragePtr(this), replaces] { storage->begin_write(replaces); });
  StorageExtras* const extras = extras_.load(std::memory_order_acquire);
  if (extras->memory && !extras->memory->take()) {
    void* const mine = allocator_->allocate(bytes_);
    if (!replaces) copy_bytes(mine, extras->memory->data(), bytes_);
    data_.store(mine, std::memory_order_release);
  }
  marks_.fetch_and(static_cast<uint8_t>(~kShared), std::memory_order_release);
  extras_.store(nullptr, std::memory_order_release);
  std::shared_ptr<StorageExtras> old(extras);
  if (is_launching()) current_work()->hold(std::move(old));
}

void Storage::expose() {
  const uint8_t before = marks_.fetch_or(kExposed, std::memory_order_seq_cst);
  if (is_borrowed_ || !(before & kShared)) return;
  Var* var = &var_;
  const TaskSpec spec{
      .name = "unshare", .reads = {&var, 1}, .writes = {&var, 1}, .cost_ns = 0.1 * static_cast<double>(bytes_)};
  runtime().engine.push(spec, [storage = StoragePtr(this)] { storage->begin_write(false); });
}

LayoutCopies::Found LayoutCopies::find(const void* from, const std::string& layout) {
  std::lock_guard lock(mutex_);
  for (const Copy& copy : copies_)
    if (copy.from == from && copy.layout == layout) return {copy.memory ? copy.memory->data() : nullptr, !copy.memory};
  if (copies_.size() < kMost) copies_.push_back({from, layout, nullptr});
  return {};
}

StoragePtr LayoutCopies::make(size_t bytes) { return StoragePtr(new Storage(allocator_of(Device{}), Device{}, bytes)); }

void* LayoutCopies::insert(const void* from, const std::string& layout, StoragePtr copy) {
  std::lock_guard lock(mutex_);
  for (Copy& known : copies_) {
    if (known.from != from || known.layout != layout) continue;
    if (!known.memory) known.memory = std::move(copy);
    return known.memory->data();
  }
  return copies_.emplace_back(Copy{from, layout, std::move(copy)}).memory->data();
}

}  // namespace headrace
