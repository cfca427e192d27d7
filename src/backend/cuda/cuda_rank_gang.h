// A GPU that exchanges arrays with those of other processes by NCCL. Its calls are on the stream that the device has
// for the work of all gangs, behind which others wait by events.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/nccl_library.h"
#include "backend/cuda/watched_gang.h"
#include "device/rank_gang.h"

namespace headrace {

class CudaRankGang final : public RankGang, public WatchedGang {
 public:
  CudaRankGang(const NcclLibrary& library, CudaDevice& device) : library_(library), device_(device) {}

  Device device() const noexcept override { return device_.device(); }
  bool knows(DType dtype) const noexcept override { return nccl_type_of(dtype).has_value(); }
  const std::string& identity() const noexcept override { return device_.identity(); }
  std::string make_meeting_point() override;
  void connect(const std::string& meeting_point, int rank, int size) override;
  CallPtr begin(const GangTask& task, void* block) override;
  void leave() noexcept override;
  bool has_happened() override;
  bool is_idle() const noexcept override { return calls_.load(std::memory_order_acquire) == 0; }
  std::string trouble() noexcept override { return why_refused(); }
  void abort(const std::string& why) noexcept override;
  Stream& stream() noexcept override { return device_.peer_stream(device_.device()); }
  void await(const CallPtr& call) override;

  std::string trouble(std::chrono::steady_clock::duration oldest) noexcept override;
  std::string text_of_failure(const GangTask& task) const override;
  void abort() noexcept override;

 private:
  class OwnCall;
  enum class Step : uint8_t { kNone, kConnecting, kCalling, kLeaving };

  CUevent take_event();
  void begin_step(Step step, const char* call, NcclResult result);
  NcclResult answer() noexcept;
  [[noreturn]] void break_down(const std::string& why);
  void await_aborted() noexcept;

  const NcclLibrary& library_;
  CudaDevice& device_;
  int rank_ = 0, size_ = 1;
  // The thread of the group:
  Step step_ = Step::kNone;  // that has not happened
  const char* step_name_ = "";
  std::chrono::steady_clock::time_point step_begin_;
  std::shared_ptr<const OwnCall> called_;  // of kCalling
  CUstream stream_ = nullptr;

  std::atomic<int> calls_{0};
  std::mutex events_mutex_;
  std::vector<CUevent> events_;  // free ones; guarded by events_mutex_
  std::mutex aborting_;
  bool is_gone_ = false;  // these two: guarded by aborting_, behind gang_lock(). The communicator is no more
  NcclComm comm_ = nullptr;
};

}  // namespace headrace
