#include "backend/cuda/cuda_gang.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/gang_watch.h"
#include "backend/cuda/nccl_calls.h"
#include "base/check.h"

namespace headrace {
namespace {

std::string names_of_devices(const std::vector<CudaDevice*>& devices) {
  std::vector<std::string> names;
  for (const CudaDevice* const device : devices) names.push_back(to_string(device->device()));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::mutex& gang_lock() noexcept {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

CudaGang::CudaGang(const NcclLibrary& library, std::vector<CudaDevice*> devices)
    : library_(library), names_(names_of_devices(devices)) {
  const std::lock_guard guard(gang_lock());
  std::vector<int> ids;
  for (CudaDevice* const device : devices) {
    const ContextScope scope(*device);
    CUevent end = nullptr;
    device->check(device->driver().event_create(&end, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    if (!begin_) device->check(device->driver().event_create(&begin_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    members_.push_back({device, device->gang_stream(), end, nullptr});
    ids.push_back(device->device().id);
  }
  std::vector<NcclComm> comms(ids.size());
  const OwnContextScope scope(*devices[0]);
  const NcclResult result = library.comm_init_all(comms.data(), static_cast<int>(ids.size()), ids.data());
  headrace::check(result == NcclResult::kSuccess, ErrorKind::kRuntime, "{}: {}", names_,
                  nccl_error_text("ncclCommInitAll", result));
  for (size_t i = 0; i < members_.size(); ++i) members_[i].comm = comms[i];
}

Stream& CudaGang::stream() noexcept { return members_[0].device->peer_stream(members_.back().device->device()); }

// What has been put on some devices before a call fails is ended, and still comes before what follows on the stream.
void CudaGang::put(const GangTask& task, std::span<void* const> blocks) {
  CUstream const stream = current_cuda_stream().handle();
  for (const Member& member : members_)
    if (const std::exception_ptr why = member.device->lost()) std::rethrow_exception(why);
  std::shared_ptr<const GangWatch::Flight> flight = gang_watch().begin(*this, *current_work(), task);
  const std::lock_guard guard(gang_lock());
  {
    const std::lock_guard calling(communicators_);
    if (!is_refusing()) {
      begin_behind(stream);
      if (const std::string failure = call_all(task, blocks); !failure.empty()) {
        refuse(failure);
        abort_locked();
      }
      end_before(stream);
    }
  }
  if (is_refusing()) {
    flight = nullptr;  // whose failure is this one
    fail(ErrorKind::kRuntime, "{}", text_of_failure(task));
  }
  current_work()->hold(std::move(flight));
}

// Behind what the stream has, on all devices.
void CudaGang::begin_behind(CUstream stream) {
  CudaDevice& first = *members_[0].device;
  const ContextScope scope(first);
  first.check(first.driver().event_record(begin_, stream), "cuEventRecord");
  for (const Member& member : members_) {
    const ContextScope own(*member.device);
    member.device->check(member.device->driver().stream_wait_event(member.stream, begin_, 0), "cuStreamWaitEvent");
  }
}

// The stream goes on when all devices have come here.
void CudaGang::end_before(CUstream stream) {
  for (const Member& member : members_) {
    const ContextScope own(*member.device);
    member.device->check(member.device->driver().event_record(member.end, member.stream), "cuEventRecord");
  }
  CudaDevice& first = *members_[0].device;
  const ContextScope scope(first);
  for (const Member& member : members_)
    first.check(first.driver().stream_wait_event(stream, member.end, 0), "cuStreamWaitEvent");
}

// Of the first call that fails; empty: none did.
std::string CudaGang::call_all(const GangTask& task, std::span<void* const> blocks) {
  const NcclCall call = nccl_call_of(task.what);
  const OwnContextScope scope(*members_[0].device);
  std::string failure;
  const auto note = [&](const char* name, NcclResult result) {
    if (result != NcclResult::kSuccess && failure.empty()) failure = nccl_error_text(name, result);
  };
  note("ncclGroupStart", library_.group_start());
  if (!failure.empty()) return failure;
  for (size_t i = 0; i < members_.size() && failure.empty(); ++i)
    note(call.name, call.put(library_, task, blocks[i], i, members_[i].comm, members_[i].stream));
  note("ncclGroupEnd", library_.group_end());
  return failure;
}

std::string CudaGang::trouble(std::chrono::steady_clock::duration) noexcept {
  for (const Member& member : members_)
    if (const std::string why = member.device->why_lost(); !why.empty()) return why;
  const std::lock_guard guard(communicators_);
  if (is_aborted_) return {};
  for (const Member& member : members_) {
    NcclResult error = NcclResult::kSuccess;
    const NcclResult asked = library_.comm_get_async_error(member.comm, &error);
    const NcclResult worse = asked == NcclResult::kSuccess ? error : asked;
    if (worse != NcclResult::kSuccess && worse != NcclResult::kInProgress)
      return fmt::format("{}: {}", to_string(member.device->device()), nccl_error_text("ncclCommGetAsyncError", worse));
  }
  return {};
}

// Without gang_lock(): who holds it may wait for a device, which waits for another.
void CudaGang::abort() noexcept {
  const std::lock_guard guard(communicators_);
  abort_locked();
}

void CudaGang::abort_locked() noexcept {
  if (is_aborted_) return;
  is_aborted_ = true;
  for (const Member& member : members_) static_cast<void>(library_.comm_abort(member.comm));
}

std::string CudaGang::text_of_failure(const GangTask& task) const {
  return fmt::format(
      "{} of {} elements of {} over {}: {}. These GPUs do nothing by NCCL in this process any more: start it anew, "
      "with HEADRACE_CUDA_NCCL=none to have them exchange arrays by copies.",
      nccl_call_of(task.what).operation, task.elements, dtype_name(task.dtype), names_, why_refused());
}

}  // namespace headrace
