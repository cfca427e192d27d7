// GPUs that sum by NCCL. Each device has one stream for the work of all gangs, which gets it in one order on all
// devices (gang_lock.h). The engine knows of one stream alone, that of the first device on which the work is launched:
// it goes on when the work of all devices is complete.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/nccl_library.h"
#include "device/gang.h"

namespace headrace {

class CudaGang final : public Gang {
 public:
  // Raises Error(kRuntime) where NCCL does not connect them.
  CudaGang(const NcclLibrary& library, std::vector<CudaDevice*> devices);

  bool knows(DType dtype) const noexcept override { return nccl_type_of(dtype).has_value(); }
  Stream& stream() noexcept override;
  void put(const GangTask& task, std::span<void* const> blocks) override;

  // What has happened to a device or to NCCL, after which work may never be complete; empty: nothing. Any thread.
  std::string trouble() noexcept;
  // No work is taken from now on, because of this. The first reason stays. Any thread.
  void refuse(const std::string& why) noexcept;
  // Of a task that failed, after refuse(). Any thread.
  std::string text_of_failure(const GangTask& task) const;
  // Ends what the devices do for each other, wherever they wait; after refuse(). Any thread that holds gang_lock().
  void abort() noexcept;

 private:
  struct Member {
    CudaDevice* device;
    CUstream stream;  // of the device, for all gangs
    CUevent end;
    NcclComm comm;
  };

  std::string call_all(const GangTask& task, std::span<void* const> blocks);
  void begin_behind(CUstream stream);
  void end_before(CUstream stream);

  const NcclLibrary& library_;
  std::vector<Member> members_;
  std::string names_;
  CUevent begin_ = nullptr;  // of the first device
  std::atomic<bool> is_refusing_{false};
  mutable std::mutex mutex_;
  std::string why_refused_;  // guarded by mutex_
  std::mutex aborting_;
  bool is_aborted_ = false;  // guarded by aborting_: the communicators are gone
};

}  // namespace headrace
