#include "backend/cuda/cuda_rank_gang.h"

#include <fmt/format.h>

#include <cstring>
#include <thread>
#include <utility>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/gang_watch.h"
#include "backend/cuda/nccl_calls.h"
#include "base/check.h"
#include "base/config.h"

namespace headrace {
namespace {

constexpr std::chrono::seconds kLongestAbort(2);
constexpr std::chrono::microseconds kBetweenQueries(50);

bool is_over(std::chrono::steady_clock::duration since) {
  return since > std::chrono::seconds(config().cuda_nccl_seconds);
}

bool is_error(NcclResult result) noexcept {
  return result != NcclResult::kSuccess && result != NcclResult::kInProgress;
}

}  // namespace

// Its event is behind the call on the stream.
class CudaRankGang::OwnCall final : public Call {
 public:
  OwnCall(CudaRankGang& of, const GangTask& what) : gang(of), task(what), end(of.take_event()) {
    gang.calls_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~OwnCall() override {
    {
      const std::lock_guard guard(gang.events_mutex_);
      gang.events_.push_back(end);
    }
    gang.calls_.fetch_sub(1, std::memory_order_acq_rel);
  }

  CudaRankGang& gang;
  const GangTask task;
  const CUevent end;
};

CUevent CudaRankGang::take_event() {
  const std::lock_guard guard(events_mutex_);
  if (events_.empty()) {
    const ContextScope scope(device_);
    CUevent made = nullptr;
    device_.check(device_.driver().event_create(&made, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return made;
  }
  CUevent const taken = events_.back();
  events_.pop_back();
  return taken;
}

// --- steps of the thread of the group --------------------------------------------------------------------------------

std::string CudaRankGang::make_meeting_point() {
  NcclId id{};
  const OwnContextScope scope(device_);
  const NcclResult result = library_.get_unique_id(&id);
  check(result == NcclResult::kSuccess, ErrorKind::kRuntime, "{}", nccl_error_text("ncclGetUniqueId", result));
  return {id.bytes, sizeof(id.bytes)};
}

void CudaRankGang::begin_step(Step step, const char* call, NcclResult result) {
  if (is_error(result)) break_down(nccl_error_text(call, result));
  step_ = step;
  step_name_ = call;
  step_begin_ = std::chrono::steady_clock::now();
}

void CudaRankGang::break_down(const std::string& why) {
  step_ = Step::kNone;
  abort(why);
  const auto called = std::exchange(called_, nullptr);
  fail(ErrorKind::kRuntime, "{}", called ? text_of_failure(called->task) : why_refused());
}

void CudaRankGang::connect(const std::string& meeting_point, int rank, int size) {
  NcclId id{};
  check(meeting_point.size() == sizeof(id.bytes), ErrorKind::kRuntime,
        "the place where ranks meet has {} bytes, expected {}; all ranks must run the same version",
        meeting_point.size(), sizeof(id.bytes));
  std::memcpy(id.bytes, meeting_point.data(), sizeof(id.bytes));
  rank_ = rank;
  size_ = size;
  NcclConfig options;
  options.blocking = 0;
  NcclResult result = NcclResult::kSuccess;
  {
    const std::lock_guard guard(gang_lock());
    stream_ = device_.gang_stream();
    const std::lock_guard own(aborting_);
    const OwnContextScope scope(device_);
    result = library_.comm_init_rank_config(&comm_, size, id, rank, &options);
  }
  begin_step(Step::kConnecting, "ncclCommInitRankConfig", result);
}

RankGang::CallPtr CudaRankGang::begin(const GangTask& task, void* block) {
  const NcclCall call = nccl_call_of(task.what);
  auto made = std::make_shared<const OwnCall>(*this, task);
  NcclResult result = NcclResult::kSuccess;
  {
    const std::lock_guard guard(gang_lock());
    const std::lock_guard own(aborting_);
    check(!is_gone_, ErrorKind::kRuntime, "{}", text_of_failure(task));
    const OwnContextScope scope(device_);
    result = call.put(library_, task, block, static_cast<size_t>(rank_), comm_, stream_);
  }
  called_ = made;
  begin_step(Step::kCalling, call.name, result);
  return made;
}

void CudaRankGang::leave() noexcept {
  const std::lock_guard guard(aborting_);
  if (is_gone_ || !comm_) return;
  const OwnContextScope scope(device_);
  if (is_error(library_.comm_finalize(comm_))) return;
  step_ = Step::kLeaving;
  step_name_ = "ncclCommFinalize";
  step_begin_ = std::chrono::steady_clock::now();
}

// Of NCCL, about what it was last asked for; kSuccess where there is nobody to ask.
NcclResult CudaRankGang::answer() noexcept {
  const std::lock_guard guard(aborting_);
  if (is_gone_ || !comm_) return NcclResult::kSuccess;
  NcclResult error = NcclResult::kSuccess;
  const NcclResult asked = library_.comm_get_async_error(comm_, &error);
  return asked == NcclResult::kSuccess ? error : asked;
}

bool CudaRankGang::has_happened() {
  if (step_ == Step::kNone) return true;
  const NcclResult result = answer();
  if (is_refusing()) break_down(why_refused());
  if (is_error(result)) break_down(nccl_error_text(step_name_, result));
  if (result == NcclResult::kInProgress) {
    const auto since = std::chrono::steady_clock::now() - step_begin_;
    if (is_over(since))
      break_down(fmt::format("{} is not over after {} seconds (HEADRACE_CUDA_NCCL_SECONDS)", step_name_,
                             config().cuda_nccl_seconds));
    return false;
  }
  if (step_ == Step::kCalling) {
    const ContextScope scope(device_);
    device_.check(device_.driver().event_record(called_->end, stream_), "cuEventRecord");
    called_ = nullptr;
  } else if (step_ == Step::kLeaving) {
    const std::lock_guard guard(aborting_);
    const OwnContextScope scope(device_);
    if (!std::exchange(is_gone_, true)) static_cast<void>(library_.comm_destroy(comm_));
  }
  step_ = Step::kNone;
  return true;
}

// --- work that waits for calls, and what goes wrong ------------------------------------------------------------------

void CudaRankGang::await(const CallPtr& call) {
  const OwnCall& own = static_cast<const OwnCall&>(*call);
  if (const std::exception_ptr why = device_.lost()) std::rethrow_exception(why);
  std::shared_ptr<const GangWatch::Flight> flight = gang_watch().begin(*this, *current_work(), own.task);
  if (is_refusing()) {
    flight = nullptr;  // whose failure is this one
    abort();           // which another thread may be about to do
    await_aborted();
    fail(ErrorKind::kRuntime, "{}", text_of_failure(own.task));
  }
  const ContextScope scope(device_);
  device_.check(device_.driver().stream_wait_event(current_cuda_stream().handle(), own.end, 0), "cuStreamWaitEvent");
  current_work()->hold(std::move(flight));
  current_work()->hold(call);
}

std::string CudaRankGang::trouble(std::chrono::steady_clock::duration oldest) noexcept {
  if (const std::string why = device_.why_lost(); !why.empty()) return why;
  if (const NcclResult result = answer(); is_error(result)) return nccl_error_text("ncclCommGetAsyncError", result);
  if (is_over(oldest))
    return fmt::format(
        "it is not complete after {} seconds (HEADRACE_CUDA_NCCL_SECONDS): a GPU of another rank has "
        "not come",
        config().cuda_nccl_seconds);
  return {};
}

void CudaRankGang::abort(const std::string& why) noexcept {
  gang_watch().break_gang(*this, why);
  await_aborted();
}

// The blocks of calls that fail are free at once. A device that hangs is not waited for.
void CudaRankGang::await_aborted() noexcept {
  if (!stream_) return;
  try {
    const ContextScope scope(device_);
    const auto end = std::chrono::steady_clock::now() + kLongestAbort;
    while (device_.driver().stream_query(stream_) == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kBetweenQueries);
  } catch (const std::exception&) {  // the device is lost
    return;
  }
}

// Without gang_lock(): who holds it may wait for this device, which waits for another rank.
void CudaRankGang::abort() noexcept {
  const std::lock_guard guard(aborting_);
  if (std::exchange(is_gone_, true) || !comm_) return;
  static_cast<void>(library_.comm_abort(comm_));
}

std::string CudaRankGang::text_of_failure(const GangTask& task) const {
  return fmt::format(
      "{} of {} elements of {} over {} and the GPUs of {} other ranks: {}. Look at what the other ranks say, and at "
      "NCCL_DEBUG=INFO; start the job anew, with HEADRACE_CUDA_NCCL=none to have arrays pass through the memory of the "
      "host.",
      nccl_call_of(task.what).operation, task.elements, dtype_name(task.dtype), to_string(device()), size_ - 1,
      why_refused());
}

}  // namespace headrace
