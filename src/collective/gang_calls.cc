#include "collective/gang_calls.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"
#include "collective/group.h"

namespace headrace::collective {
namespace {

// What passes as bytes needs no type that the library knows.
GangTask task_of(const Work& work, size_t ranks) {
  switch (work.what) {
    case Work::What::kGather:
      return {.what = GangTask::What::kAllGather, .root = 0, .elements = work.sizes[0], .dtype = DType::kUint8};
    case Work::What::kBroadcast:
      return {.what = GangTask::What::kBroadcast,
              .root = static_cast<size_t>(work.root),
              .elements = work.elements * item_size(work.dtype),
              .dtype = DType::kUint8};
    case Work::What::kFoldParts:
      return {
          .what = GangTask::What::kReduceScatter, .root = 0, .elements = work.elements / ranks, .dtype = work.dtype};
    case Work::What::kNothing:
    case Work::What::kFold:
    case Work::What::kFoldShare:  // these two: of the host alone
    case Work::What::kGatherShares:
      break;
  }
  return {.what = GangTask::What::kAllReduce, .root = 0, .elements = work.elements, .dtype = work.dtype};
}

}  // namespace

void GangCalls::connect(RankGang& gang, const std::string& meeting_point, int rank, int size) {
  gang_ = &gang;
  is_connecting_ = true;
  ranks_ = static_cast<size_t>(size);
  try {
    gang.connect(meeting_point, rank, size);
  } catch (const std::exception& error) {
    fail_to_connect(error.what());
  }
}

void GangCalls::fail_to_connect(const std::string& why) {
  tell_({.what = Event::What::kConnected, .failure = CallFailure{ErrorKind::kRuntime, why}});
  give_up(why);
}

void GangCalls::give_up(const std::string& why) {
  if (RankGang* const gang = std::exchange(gang_, nullptr)) gang->abort(why);
  is_connecting_ = false;
}

void GangCalls::add(std::shared_ptr<Request> request) { waiting_.push_back(std::move(request)); }

void GangCalls::break_down(const std::string& why) {
  const CallFailure failure{ErrorKind::kRuntime, why};
  if (gang_) gang_->abort(why);  // before the memory of what has begun is free
  if (!std::exchange(is_troubled_, true)) tell_({.what = Event::What::kBroken, .failure = failure});
  if (const auto begun = std::exchange(begun_, nullptr)) complete_(*begun, failure);
  for (const auto& request : std::exchange(waiting_, {})) complete_(*request, failure);
}

void GangCalls::begin_next() {
  begun_ = std::move(waiting_.front());
  waiting_.pop_front();
  begun_->gang_call = gang_->begin(task_of(begun_->work, ranks_), begun_->work.output);
}

bool GangCalls::advance() {
  if (!gang_) return false;
  try {
    if (!gang_->has_happened()) return false;
    if (std::exchange(is_connecting_, false)) {
      tell_({.what = Event::What::kConnected});
      return true;
    }
    const bool has_news = begun_ || !waiting_.empty();
    if (const auto begun = std::exchange(begun_, nullptr)) complete_(*begun, {});
    if (!waiting_.empty()) begin_next();
    if (const std::string why = is_troubled_ ? "" : gang_->trouble(); !why.empty()) break_down(why);
    return has_news;
  } catch (const std::exception& error) {
    is_connecting_ ? fail_to_connect(error.what()) : break_down(error.what());
    return true;
  }
}

void GangCalls::abort(const std::string& why) {
  if (!gang_) return;
  is_troubled_ = true;
  gang_->abort(why);
  try {
    static_cast<void>(gang_->has_happened());
    break_down(why);
  } catch (const std::exception& error) {  // of what was begun last
    break_down(error.what());
  }
}

void GangCalls::leave() {
  if (!gang_) return;
  if (is_busy()) return abort("this rank has left the others");
  try {
    gang_->leave();
    while (!gang_->has_happened()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } catch (const std::exception&) {
    return;  // it is aborted
  }
}

}  // namespace headrace::collective
