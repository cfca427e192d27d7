#include "backend/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "base/check.h"
#include "base/futex.h"

namespace headrace {
namespace {

using namespace std::chrono_literals;

// The three roles that have one stream each.
constexpr int kOwnStreams = static_cast<int>(StreamRole::kCommunication);

// How long a thread looks for progress before it sleeps, about what waking it takes, and how long it sleeps between
// looks.
constexpr auto kSpin = 20us, kSleep = 50us;

// After these the context is finished, and with it the device for this process.
bool is_sticky(CUresult result) noexcept {
  static constexpr std::array kSticky = {
      CUDA_ERROR_ECC_UNCORRECTABLE,
      CUDA_ERROR_NVLINK_UNCORRECTABLE,
      CUDA_ERROR_ILLEGAL_ADDRESS,
      CUDA_ERROR_LAUNCH_TIMEOUT,
      CUDA_ERROR_ASSERT,
      CUDA_ERROR_HARDWARE_STACK_ERROR,
      CUDA_ERROR_ILLEGAL_INSTRUCTION,
      CUDA_ERROR_MISALIGNED_ADDRESS,
      CUDA_ERROR_INVALID_ADDRESS_SPACE,
      CUDA_ERROR_INVALID_PC,
      CUDA_ERROR_LAUNCH_FAILED,
      CUDA_ERROR_CONTEXT_IS_DESTROYED,
      CUDA_ERROR_DEINITIALIZED,
      CUDA_ERROR_DEVICE_UNAVAILABLE,
      CUDA_ERROR_MPS_CLIENT_TERMINATED,
      CUDA_ERROR_EXTERNAL_DEVICE,
      CUDA_ERROR_UNKNOWN,
  };
  return std::ranges::find(kSticky, result) != kSticky.end();
}

constexpr int kMostNameBytes = 256;

}  // namespace

CudaDevice::CudaDevice(const CudaDriver& driver, int id)
    : Accelerator({DeviceType::kGpu, id}), driver_(driver), allocator_(*this) {
  size_t total = 0;
  check(driver.device_get(&handle_, id), "cuDeviceGet");
  check(driver.device_total_mem(&total, handle_), "cuDeviceTotalMem");
  compute_capability_ = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  processors_ = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  headrace::check(attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) != 0, ErrorKind::kRuntime,
                  "{}: the driver writes no numbers behind work of a stream (cuStreamWriteValue64), which is needed",
                  to_string(device()));
  check(driver.device_primary_ctx_retain(&context_, handle_), "cuDevicePrimaryCtxRetain");
  total_bytes_ = static_cast<int64_t>(total);
  char name[kMostNameBytes] = {};
  check(driver.device_get_name(name, kMostNameBytes, handle_), "cuDeviceGetName");
  name_ = name;
  CUuuid identity{};
  check(driver.device_get_uuid(&identity, handle_), "cuDeviceGetUuid");
  for (const char byte : identity.bytes) identity_ += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  for (int index = 0; index < kOwnStreams; ++index)
    streams_.push_back(std::make_unique<CudaStream>(*this, static_cast<StreamRole>(index), index, std::nullopt));
  for (int peer = 0; peer < kMost; ++peer)
    streams_.push_back(std::make_unique<CudaStream>(*this, StreamRole::kCommunication, kOwnStreams + peer,
                                                    Device{DeviceType::kGpu, peer}));
}

CudaDevice::~CudaDevice() = default;

int CudaDevice::attribute(CUdevice_attribute which) {
  int value = 0;
  check(driver_.device_get_attribute(&value, which, handle_), "cuDeviceGetAttribute");
  return value;
}

Stream& CudaDevice::stream(int index) noexcept { return *streams_[static_cast<size_t>(index)]; }

Stream& CudaDevice::peer_stream(Device from) noexcept { return stream(kOwnStreams + from.id); }

uint32_t CudaDevice::progress() noexcept {
  uint64_t sum = notified_.load(std::memory_order_acquire);
  for (const auto& stream : streams_) sum += stream->completed();
  return static_cast<uint32_t>(sum);
}

bool CudaDevice::has_work() noexcept {
  return std::ranges::any_of(streams_, [](const auto& stream) { return stream->has_work(); });
}

// The GPU wakes nobody: who waits looks again and again, as long as there is work, and asks for errors, after which no
// work completes.
void CudaDevice::await_progress(uint32_t seen) noexcept {
  for (const auto& stream : streams_) stream->tell_all();
  const auto spin_until = std::chrono::steady_clock::now() + kSpin;
  for (;;) {
    const uint32_t notified = notified_.load(std::memory_order_acquire);
    const bool is_busy = has_work();  // before progress(), which then shows what has ended in between
    if (progress() != seen) return;
    if (std::chrono::steady_clock::now() < spin_until) continue;
    if (!is_busy || is_lost_.load(std::memory_order_acquire)) {
      futex_wait(notified_, notified);
      continue;
    }
    for (const auto& stream : streams_)
      if (stream->has_work()) stream->ask_for_errors();
    futex_wait(notified_, notified, kSleep);
  }
}

void CudaDevice::notify() noexcept {
  notified_.fetch_add(1, std::memory_order_acq_rel);
  futex_wake_all(notified_);
}

std::exception_ptr CudaDevice::lost() const noexcept {
  if (!is_lost_.load(std::memory_order_acquire)) return nullptr;
  return std::make_exception_ptr(Error(ErrorKind::kRuntime, why_lost()));
}

std::string CudaDevice::why_lost() const {
  if (!is_lost_.load(std::memory_order_acquire)) return {};
  const std::lock_guard guard(mutex_);
  return fmt::format(
      "{}: {}. The device is lost to this process, and what was on it; what failed came before. Arrays of the host "
      "are as they were: save them, and start the process anew.",
      to_string(device()), why_lost_);
}

void CudaDevice::note(CUresult result, const char* call) noexcept {
  if (is_sticky(result)) lose(result, call);
}

void CudaDevice::lose(CUresult result, const char* call) noexcept {
  {
    const std::lock_guard guard(mutex_);
    if (is_lost_.load(std::memory_order_relaxed)) return;
    why_lost_ = fmt::format("{} answered {}", call, cuda_error_text(result));
    is_lost_.store(true, std::memory_order_release);
  }
  notify();
}

void CudaDevice::check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) [[likely]]
    return;
  note(result, call);
  if (const std::exception_ptr why = lost()) std::rethrow_exception(why);
  const ErrorKind kind = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorKind::kMemory : ErrorKind::kRuntime;
  fail(kind, "{}: {} answered {}", to_string(device()), call, cuda_error_text(result));
}

void CudaDevice::lock_for_fork() noexcept {
  mutex_.lock();
  allocator_.lock_for_fork();
}

void CudaDevice::unlock_after_fork() noexcept {
  allocator_.unlock_after_fork();
  mutex_.unlock();
}

void CudaDevice::allow_peer(CudaDevice& other) {
  const auto is_known = [&] { return std::ranges::find(peers_, other.context_) != peers_.end(); };
  {
    const std::lock_guard guard(mutex_);
    if (is_known()) return;
  }
  const ContextScope scope(*this);
  const std::lock_guard taking_memory(gang_lock());
  const std::lock_guard guard(mutex_);
  if (is_known()) return;  // another thread was there first
  peers_.push_back(other.context_);
  int can = 0;
  if (driver_.device_can_access_peer(&can, handle_, other.handle_) != CUDA_SUCCESS || !can) return;
  static_cast<void>(driver_.ctx_enable_peer_access(other.context_, 0));  // without it copies go through the host
}

CUstream CudaDevice::gang_stream() {
  constexpr int kHigh = -1;
  const ContextScope scope(*this);
  if (!gang_stream_)
    check(driver_.stream_create_with_priority(&gang_stream_, CU_STREAM_NON_BLOCKING, kHigh),
          "cuStreamCreateWithPriority");
  return gang_stream_;
}

OwnContextScope::OwnContextScope(CudaDevice& device) : device_(device) {
  device.check(device.driver().ctx_push_current(device.context()), "cuCtxPushCurrent");
}

OwnContextScope::~OwnContextScope() {
  CUcontext popped = nullptr;
  static_cast<void>(device_.driver().ctx_pop_current(&popped));
}

ContextScope::ContextScope(CudaDevice& device) : device_(device) {
  CUcontext current = nullptr;
  device.check(device.driver().ctx_get_current(&current), "cuCtxGetCurrent");
  if (current == device.context()) return;
  device.check(device.driver().ctx_push_current(device.context()), "cuCtxPushCurrent");
  is_pushed_ = true;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (is_pushed_) static_cast<void>(device_.driver().ctx_pop_current(&popped));
}

}  // namespace headrace
