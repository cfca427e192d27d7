#include "device/registry.h"

#include "base/check.h"
#include "base/function_ref.h"
#include "base/log.h"

namespace headrace {
namespace {

constexpr size_t kTypes = 8;

// Entries by number of the device type; without a backend: there is none.
struct Table {
  BackendEntry by_type[kTypes] = {};
  Table() {
    for (const BackendEntry& entry : all_backends()) by_type[static_cast<size_t>(entry.type)] = entry;
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

[[noreturn]] void fail_no_device(Device device) {
  const Backend* const backend = backend_of(device.type);
  if (const std::exception_ptr refusal = backend ? backend->refusal() : nullptr) std::rethrow_exception(refusal);
  const bool is_gpu = device.type == DeviceType::kGpu;
  check(device.id >= 0, ErrorKind::kRuntime, "{}: no such device; their numbers begin with 0", to_string(device));
  check(!is_gpu || device_count(device.type) > 0 || why_gpus_are_unused().empty(), ErrorKind::kRuntime,
        "{}: no such device; {}", to_string(device), why_gpus_are_unused());
  fail(ErrorKind::kRuntime, "{}: no such device; this machine has {} of that type. Use one that exists, for example {}",
       to_string(device), device_count(device.type),
       is_gpu ? "cpu(0), or let the machine simulate GPUs: HEADRACE_SIM_GPUS=n, or headrace.sim.configure(gpus=n)."
              : "cpu(0).");
}

}  // namespace

Backend* backend_of(DeviceType type) {
  const size_t index = static_cast<size_t>(type);
  return index < kTypes ? table().by_type[index].backend : nullptr;
}

const KernelTable* kernels_of(DeviceType type) {
  const BackendEntry& entry = table().by_type[static_cast<size_t>(type)];
  return entry.kernels ? &entry.kernels() : nullptr;
}

Allocator& allocator_of(Device device) {
  Backend* backend = backend_of(device.type);
  Allocator* allocator = backend ? backend->allocator(device.id) : nullptr;
  if (!allocator) [[unlikely]]  // not check(): naming the device costs more than a tiny task
    fail_no_device(device);
  return *allocator;
}

Accelerator* accelerator_of(Device device) {
  if (device.is_host()) return nullptr;
  Backend* backend = backend_of(device.type);
  Accelerator* accelerator = backend ? backend->accelerator(device.id) : nullptr;
  if (!accelerator) fail_no_device(device);
  return accelerator;
}

Stream* compute_stream(Device device) {
  Accelerator* accelerator = accelerator_of(device);
  return accelerator ? &accelerator->stream(StreamRole::kCompute) : nullptr;
}

Stream* copy_stream(Device to, Device from) {
  if (to == from) return compute_stream(to);
  if (from.is_host()) return to.is_host() ? nullptr : &accelerator_of(to)->stream(StreamRole::kHostToDevice);
  return to.is_host() ? &accelerator_of(from)->stream(StreamRole::kDeviceToHost)
                      : &accelerator_of(to)->peer_stream(from);
}

void check_contents(Device device, const void* block) {
  const Accelerator* accelerator = accelerator_of(device);
  if (!accelerator) return;
  if (const std::exception_ptr lost = accelerator->lost_contents(block)) std::rethrow_exception(lost);
}

int device_count(DeviceType type) {
  Backend* backend = backend_of(type);
  const int count = backend ? backend->device_count() : 0;
  if (count == 0 && type == DeviceType::kGpu && !why_gpus_are_unused().empty()) {
    static const bool said = (log(LogLevel::kWarn, "{}", why_gpus_are_unused()), true);
    static_cast<void>(said);
  }
  return count;
}

std::shared_ptr<const Topology> topology_of(DeviceType type) {
  Backend* backend = backend_of(type);
  return backend ? backend->topology() : nullptr;
}

namespace {

// A backend that serves several device types is visited once.
void visit_backends(FunctionRef<void(Backend&)> visit) noexcept {
  const Backend* previous = nullptr;
  for (const BackendEntry& entry : all_backends()) {
    if (entry.backend != previous) visit(*entry.backend);
    previous = entry.backend;
  }
}

}  // namespace

void backends_end_threads() noexcept {
  visit_backends([](Backend& backend) { backend.end_threads(); });
}

void backends_before_fork() noexcept {
  visit_backends([](Backend& backend) { backend.before_fork(); });
}

void backends_after_fork(bool in_child) noexcept {
  visit_backends([&](Backend& backend) { backend.after_fork(in_child); });
}

}  // namespace headrace
