// One GPU: its context, streams and memory. Lives as long as the process.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/cuda_allocator.h"
#include "backend/cuda/driver.h"
#include "device/accelerator.h"

namespace headrace {

class CudaStream;

class CudaDevice final : public Accelerator {
 public:
  // Raises Error(kRuntime) when the driver does not give the device.
  CudaDevice(const CudaDriver& driver, int id);
  ~CudaDevice() override;

  int64_t memory_bytes() const noexcept override { return total_bytes_; }
  DeviceProperties properties() const override { return {name_, compute_capability_, processors_}; }
  // Compute, host to device, device to host, then one for copies from each other GPU.
  int stream_count() const noexcept override { return static_cast<int>(streams_.size()); }
  Stream& stream(int index) noexcept override;
  Stream& peer_stream(Device from) noexcept override;

  uint32_t progress() noexcept override;
  void await_progress(uint32_t seen) noexcept override;
  void notify() noexcept override;
  std::exception_ptr lost() const noexcept override;
  // What that says; empty: the device works.
  std::string why_lost() const;

  const CudaDriver& driver() const noexcept { return driver_; }
  CUcontext context() const noexcept { return context_; }
  // Ten times the major number and the minor one, as in sm_90.
  int compute_capability() const noexcept { return compute_capability_; }
  int processors() const noexcept { return processors_; }
  // The same in all processes, and of no other device of any machine.
  const std::string& identity() const noexcept { return identity_; }
  CudaAllocator& allocator() noexcept { return allocator_; }
  void lock_for_fork() noexcept;
  void unlock_after_fork() noexcept;

  // Raises Error for what a call of the driver answered. Errors after which the context cannot be used any more lose
  // the device. Any thread.
  void check(CUresult result, const char* call);
  // The device is lost if `result` says so.
  void note(CUresult result, const char* call) noexcept;
  // The device is lost, for what a call answered.
  void lose(CUresult result, const char* call) noexcept;
  // For what several devices do together, see gang_lock.h, which the caller holds.
  CUstream gang_stream();
  // Copies from the memory of `other` may go straight to this device's. Any thread.
  void allow_peer(CudaDevice& other);

 private:
  int attribute(CUdevice_attribute which);
  bool has_work() noexcept;

  const CudaDriver& driver_;
  CUdevice handle_ = 0;
  CUcontext context_ = nullptr;
  int compute_capability_ = 0, processors_ = 0;
  int64_t total_bytes_ = 0;
  std::string identity_, name_;
  CudaAllocator allocator_;
  std::vector<std::unique_ptr<CudaStream>> streams_;
  CUstream gang_stream_ = nullptr;  // guarded by gang_lock(); null: not needed yet
  std::atomic<uint32_t> notified_{0};
  std::atomic<bool> is_lost_{false};
  mutable std::mutex mutex_;
  std::string why_lost_;          // guarded by mutex_
  std::vector<CUcontext> peers_;  // guarded by mutex_
};

// While it lives, calls of the driver on this thread mean the device. Cheap where they did already.
class ContextScope {
 public:
  explicit ContextScope(CudaDevice& device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  CudaDevice& device_;
  bool is_pushed_ = false;
};

// The same for libraries that change which context is current: they change it in the place that this has taken.
class OwnContextScope {
 public:
  explicit OwnContextScope(CudaDevice& device);
  ~OwnContextScope();
  OwnContextScope(const OwnContextScope&) = delete;
  OwnContextScope& operator=(const OwnContextScope&) = delete;

 private:
  CudaDevice& device_;
};

}  // namespace headrace
