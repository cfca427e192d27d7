#include "device/registry.h"

#include "base/check.h"

namespace headrace {
namespace {

constexpr size_t kTypes = 8;

// Backend by number of the device type.
struct Table {
  Backend* by_type[kTypes] = {};
  Table() {
    for (const BackendEntry& entry : builtin_backends()) by_type[static_cast<size_t>(entry.type)] = entry.backend;
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

Backend* backend_of(DeviceType type) {
  const size_t index = static_cast<size_t>(type);
  return index < kTypes ? table().by_type[index] : nullptr;
}

}  // namespace

Allocator& allocator_of(Device device) {
  Backend* backend = backend_of(device.type);
  Allocator* allocator = backend ? backend->allocator(device.id) : nullptr;
  if (!allocator) [[unlikely]]  // not check(): naming the device costs more than a tiny task
    fail(ErrorKind::kRuntime,
         "{}: no such device; this machine has {} of that type. Use one that headrace.context lists, for example "
         "cpu(0).",
         to_string(device), device_count(device.type));
  return *allocator;
}

int device_count(DeviceType type) noexcept {
  Backend* backend = backend_of(type);
  return backend ? backend->device_count() : 0;
}

// A backend that serves several device types is called once.
void backends_before_fork() noexcept {
  const Backend* previous = nullptr;
  for (const BackendEntry& entry : builtin_backends()) {
    if (entry.backend != previous) entry.backend->before_fork();
    previous = entry.backend;
  }
}

void backends_after_fork(bool in_child) noexcept {
  const Backend* previous = nullptr;
  for (const BackendEntry& entry : builtin_backends()) {
    if (entry.backend != previous) entry.backend->after_fork(in_child);
    previous = entry.backend;
  }
}

}  // namespace headrace
