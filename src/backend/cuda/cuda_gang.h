// GPUs that sum by NCCL. Each device has one stream for the work of all gangs, which gets it in one order on all
// devices (gang_lock.h). The engine knows of one stream alone, that of the first device on which the work is launched:
// it goes on when the work of all devices is complete.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/nccl_library.h"
#include "backend/cuda/watched_gang.h"
#include "device/gang.h"

namespace headrace {

class CudaGang final : public Gang, public WatchedGang {
 public:
  // Raises Error(kRuntime) where NCCL does not connect them.
  CudaGang(const NcclLibrary& library, std::vector<CudaDevice*> devices);

  bool knows(DType dtype) const noexcept override { return nccl_type_of(dtype).has_value(); }
  Stream& stream() noexcept override;
  void put(const GangTask& task, std::span<void* const> blocks) override;

  std::string trouble(std::chrono::steady_clock::duration oldest) noexcept override;
  std::string text_of_failure(const GangTask& task) const override;
  void abort() noexcept override;

 private:
  struct Member {
    CudaDevice* device;
    CUstream stream;  // of the device, for all gangs
    CUevent end;
    NcclComm comm;
  };

  std::string call_all(const GangTask& task, std::span<void* const> blocks);
  void abort_locked() noexcept;  // by whom communicators_ is held
  void begin_behind(CUstream stream);
  void end_before(CUstream stream);

  const NcclLibrary& library_;
  std::vector<Member> members_;
  std::string names_;
  CUevent begin_ = nullptr;   // of the first device
  std::mutex communicators_;  // behind gang_lock()
  bool is_aborted_ = false;   // guarded by communicators_: they are gone
};

}  // namespace headrace
