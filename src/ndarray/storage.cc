#include "ndarray/storage.h"

#include <memory>

#include "base/check.h"
#include "device/observer.h"
#include "device/registry.h"
#include "device/stream.h"
#include "engine/runtime.h"
#include "ndarray/layout_copies.h"

namespace headrace {

Storage::~Storage() {
  if (PushObserver* const observer = runtime().engine.observer()) [[unlikely]]
    observer->forgotten(&var_);
  if (is_borrowed_) {
    free_owner_(owner_);
    return;
  }
  drop_copies();
  if (void* pointer = data_.load(std::memory_order_relaxed)) allocator_->release(pointer, bytes_);
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

void* Storage::allocate() {
  void* mine = allocator_->allocate(bytes_);
  void* expected = nullptr;
  if (data_.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) return mine;
  allocator_->release(mine, bytes_);
  return expected;
}

LayoutCopies* Storage::copies() {
  if (is_borrowed_ || is_exposed_.load(std::memory_order_relaxed)) return nullptr;
  if (LayoutCopies* known = copies_.load(std::memory_order_acquire)) return known;
  auto mine = std::make_unique<LayoutCopies>();
  LayoutCopies* expected = nullptr;
  return copies_.compare_exchange_strong(expected, mine.get(), std::memory_order_acq_rel) ? mine.release() : expected;
}

void Storage::drop_copies() noexcept { delete copies_.exchange(nullptr, std::memory_order_acq_rel); }

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
