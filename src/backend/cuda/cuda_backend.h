// NVIDIA's GPUs, and the memory of the host that they reach.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_gang.h"
#include "backend/cuda/cuda_rank_gang.h"
#include "device/backend.h"

namespace headrace {

class CudaBackend final : public Backend {
 public:
  // Asks the driver when it is first called, which takes a moment; from then on children of the process have no GPU.
  int device_count() const noexcept override;
  std::exception_ptr refusal() const noexcept override;
  Allocator* allocator(int id) noexcept override;
  Allocator* allocator_in_use(int id) noexcept override;
  Accelerator* accelerator(int id) noexcept override;
  int64_t free_bytes(int id) override;
  int dlpack_type() const noexcept override;
  void await_everybody(int id) noexcept override;
  std::vector<std::string> features() override;
  Gang* gang(std::span<const int> ids) override;
  RankGang* rank_gang(int id) override;
  std::shared_ptr<KernelModule> compile(int id, const KernelSource& source) override;
  void end_threads() noexcept override;
  void before_fork() noexcept override;
  void after_fork(bool in_child) noexcept override;

  // One that is there. Raises Error when the driver does not give it.
  CudaDevice& device(int id);
  // The first one that the process uses, or the first there is where it uses none yet. Raises as device() does.
  CudaDevice& device_in_use();

 private:
  // Null, which is logged, also where the driver refuses the device.
  CudaDevice* find(int id) noexcept;
  template <class Visit>
  void visit_devices(const Visit& visit) noexcept;

  std::mutex gangs_mutex_;
  // By the numbers of their devices; null: NCCL does not connect these, which was said. Guarded by gangs_mutex_.
  std::map<std::vector<int>, std::unique_ptr<CudaGang>> gangs_;
  std::vector<std::unique_ptr<CudaRankGang>> rank_gangs_;  // guarded by gangs_mutex_
  std::mutex mutex_;
  std::array<std::atomic<CudaDevice*>, Accelerator::kMost> devices_{};  // made when first asked for; never destroyed
  std::atomic<bool> is_refused_{false};                                 // set once, in a child that fork() has made
};

// Lives as long as the process.
CudaBackend& cuda_backend();

// cpu_pinned: memory that the GPUs reach. It is there where they are.
Backend& pinned_backend();

}  // namespace headrace
