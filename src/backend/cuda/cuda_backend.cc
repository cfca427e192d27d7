#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "backend/cuda/cuda_module.h"
#include "backend/cuda/dnn.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/gang_watch.h"
#include "backend/cuda/pinned_memory.h"
#include "base/check.h"
#include "base/log.h"

namespace headrace {
namespace {

constexpr const char* kHowToGetNccl =
    "Install NVIDIA's NCCL (pip install nvidia-nccl-cu13), or say that it is not wanted (HEADRACE_CUDA_NCCL=none).";

int count_devices() {
  const CudaDriver* const driver = cuda_driver();
  if (!driver) return 0;  // refusal() says why
  int count = 0;
  if (const CUresult result = driver->device_get_count(&count); result != CUDA_SUCCESS)
    log(LogLevel::kWarn, "cuda: there are no devices: cuDeviceGetCount answered {}", cuda_error_text(result));
  return std::min(count, Accelerator::kMost);
}

// What `find` gives; null, which is logged, where the driver refuses it.
template <class Find>
auto unless_refused(const Find& find) noexcept -> decltype(find()) {
  try {
    return find();
  } catch (const std::exception& error) {
    log(LogLevel::kError, "{}", error.what());
    return nullptr;
  }
}

class PinnedBackend final : public Backend {
 public:
  int device_count() const noexcept override {
    return cuda_backend().device_count() > 0 ? std::numeric_limits<int>::max() : 0;
  }
  std::exception_ptr refusal() const noexcept override { return cuda_backend().refusal(); }
  // Behind CudaBackend, and so behind all locks that gang_lock() is taken behind.
  void before_fork() noexcept override {
    pinned_memory_lock().lock();
    gang_lock().lock();
  }
  void after_fork(bool) noexcept override {
    gang_lock().unlock();
    pinned_memory_lock().unlock();
  }
  Allocator* allocator(int id) noexcept override {
    return id < 0 || device_count() == 0 ? nullptr : unless_refused([] { return &pinned_memory(); });
  }
  Allocator* allocator_in_use(int) noexcept override { return pinned_memory_in_use(); }
};

}  // namespace

int CudaBackend::device_count() const noexcept {
  if (is_refused_.load(std::memory_order_acquire)) return 0;
  static const int count = count_devices();
  return count;
}

std::exception_ptr CudaBackend::refusal() const noexcept {
  if (!is_refused_.load(std::memory_order_acquire)) {
    if (cuda_driver()) return nullptr;
    return std::make_exception_ptr(Error(ErrorKind::kRuntime, fmt::format("cuda: {}", why_no_cuda_driver())));
  }
  return std::make_exception_ptr(
      Error(ErrorKind::kRuntime,
            "cuda: this process was made by fork() after its parent had used the driver, which does not work in such a "
            "child. "
            "Use GPUs in the parent alone, or start the process anew (multiprocessing: the method 'spawn')."));
}

CudaDevice& CudaBackend::device(int id) {
  std::atomic<CudaDevice*>& place = devices_[static_cast<size_t>(id)];
  if (CudaDevice* const known = place.load(std::memory_order_acquire)) return *known;
  const std::lock_guard guard(mutex_);
  if (!place.load(std::memory_order_relaxed))
    place.store(new CudaDevice(*cuda_driver(), id), std::memory_order_release);
  return *place.load(std::memory_order_relaxed);
}

CudaDevice& CudaBackend::device_in_use() {
  for (const std::atomic<CudaDevice*>& place : devices_)
    if (CudaDevice* const known = place.load(std::memory_order_acquire)) return *known;
  return device(0);
}

CudaDevice* CudaBackend::find(int id) noexcept {
  if (id < 0 || id >= device_count()) return nullptr;
  return unless_refused([&] { return &device(id); });
}

Allocator* CudaBackend::allocator(int id) noexcept {
  CudaDevice* const found = find(id);
  return found ? &found->allocator() : nullptr;
}

Allocator* CudaBackend::allocator_in_use(int id) noexcept {
  CudaDevice* const known = devices_[static_cast<size_t>(id)].load(std::memory_order_acquire);
  return known ? &known->allocator() : nullptr;
}

Accelerator* CudaBackend::accelerator(int id) noexcept { return find(id); }

int64_t CudaBackend::free_bytes(int id) {
  CudaDevice& of = device(id);
  const ContextScope scope(of);
  size_t free = 0, total = 0;
  of.check(of.driver().mem_get_info(&free, &total), "cuMemGetInfo");
  return static_cast<int64_t>(free);
}

int CudaBackend::dlpack_type() const noexcept {
  constexpr int kDlCuda = 2;
  return kDlCuda;
}

void CudaBackend::await_everybody(int id) noexcept {
  try {
    CudaDevice& of = device(id);
    const ContextScope scope(of);
    CUresult answer = CUDA_SUCCESS;
    while ((answer = of.driver().ctx_synchronize()) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)  // by another thread
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    of.note(answer, "cuCtxSynchronize");
  } catch (const std::exception&) {
    return;  // of a lost device nothing is complete any more
  }
}

std::vector<std::string> CudaBackend::features() {
  if (device_count() == 0) return {};
  std::vector<std::string> names = {"CUDA"};
  if (has_dnn()) names.emplace_back("CUDNN");
  if (nccl_library()) names.emplace_back("NCCL");
  return names;
}

// Making one takes a second or so. Why there is none is said once.
Gang* CudaBackend::gang(std::span<const int> ids) {
  const std::lock_guard guard(gangs_mutex_);
  const auto [place, is_new] = gangs_.try_emplace({ids.begin(), ids.end()});
  if (!is_new) return place->second.get();
  const NcclLibrary* const library = nccl_library();
  if (!library) {
    if (!why_no_nccl().empty())
      log(LogLevel::kWarn, "cuda: GPUs exchange arrays by copies: {}. {}", why_no_nccl(), kHowToGetNccl);
    return nullptr;
  }
  std::vector<CudaDevice*> devices;
  for (const int id : ids) devices.push_back(&device(id));
  try {
    place->second = std::make_unique<CudaGang>(*library, std::move(devices));
  } catch (const Error& error) {
    log(LogLevel::kWarn, "cuda: GPUs exchange arrays by copies, as NCCL does not connect them: {}", error.what());
  }
  return place->second.get();
}

RankGang* CudaBackend::rank_gang(int id) {
  const NcclLibrary* const library = nccl_library();
  check(library || why_no_nccl().empty(), ErrorKind::kRuntime, "{}. {}", why_no_nccl(), kHowToGetNccl);
  if (!library) return nullptr;
  const std::lock_guard guard(gangs_mutex_);
  return rank_gangs_.emplace_back(std::make_unique<CudaRankGang>(*library, device(id))).get();
}

std::shared_ptr<KernelModule> CudaBackend::compile(int id, const KernelSource& source) {
  return load_module(device(id), source);
}

void CudaBackend::end_threads() noexcept { gang_watch().end_thread(); }

template <class Visit>
void CudaBackend::visit_devices(const Visit& visit) noexcept {
  for (const std::atomic<CudaDevice*>& place : devices_)
    if (CudaDevice* const device = place.load(std::memory_order_acquire)) visit(*device);
}

void CudaBackend::before_fork() noexcept {
  gangs_mutex_.lock();
  mutex_.lock();
  visit_devices([](CudaDevice& device) { device.lock_for_fork(); });
}

void CudaBackend::after_fork(bool in_child) noexcept {
  visit_devices([](CudaDevice& device) { device.unlock_after_fork(); });
  mutex_.unlock();
  gangs_mutex_.unlock();
  if (in_child && cuda_driver_was_asked()) is_refused_.store(true, std::memory_order_release);
}

CudaBackend& cuda_backend() {
  static CudaBackend& instance = *new CudaBackend();
  return instance;
}

Backend& pinned_backend() {
  static PinnedBackend& instance = *new PinnedBackend();
  return instance;
}

}  // namespace headrace
