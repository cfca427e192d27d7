#include "backend/cuda/stream_times.h"

#include <fmt/format.h>

#include <utility>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "base/clock.h"

namespace headrace {
namespace {

double ticks_per_ms() {
  static const double rate = [] {
    const TickScale scale;
    constexpr uint64_t kSpan = uint64_t{1} << 30;
    const uint64_t now = ticks();
    return static_cast<double>(kSpan) / (scale.to_ns(now + kSpan) - scale.to_ns(now)) * 1e6;
  }();
  return rate;
}

}  // namespace

StreamTimes::StreamTimes(CudaDevice& device, CudaStream& stream)
    : device_(device),
      stream_(stream),
      lane_(fmt::format("{} {}", to_string(device.device()), role_name(stream.role())), "streams"),
      ticks_per_ms_(ticks_per_ms()) {}

CUevent StreamTimes::take_event() {
  if (!free_.empty()) {
    const CUevent known = free_.back();
    free_.pop_back();
    return known;
  }
  CUevent made = nullptr;
  device_.check(device_.driver().event_create(&made, CU_EVENT_DEFAULT), "cuEventCreate");
  return made;
}

void StreamTimes::record(CUevent event) {
  device_.check(device_.driver().event_record(event, stream_.handle()), "cuEventRecord");
}

// Milliseconds since the origin come as a float, which is exact to microseconds for some seconds.
void StreamTimes::take_origin() {
  constexpr double kFreshMs = 1000;
  const bool is_fresh = origin_ && static_cast<double>(ticks() - origin_stamp_) < kFreshMs * ticks_per_ms_;
  if (is_fresh || !pending_.empty() || (origin_ && stream_.has_work())) return;
  if (!origin_) origin_ = take_event();
  record(origin_);
  origin_stamp_ = ticks();
}

StreamTimes::Timed StreamTimes::begin_timed(Work* work, timeline::Label label) {
  const Timed begun{work, label, 0, take_event(), take_event()};
  record(begun.begin);
  return begun;
}

// False: its times are not known.
bool StreamTimes::end_timed(Timed& timed) noexcept {
  try {
    record(timed.end);
    return true;
  } catch (...) {
    return false;
  }
}

bool StreamTimes::begin(Work& work) {
  work_.reset();
  part_.reset();
  parts_.clear();
  if (!timeline::enabled(timeline::kOperator.source)) return false;
  take_origin();
  work_ = begin_timed(&work, "");
  return true;
}

void StreamTimes::end(uint64_t number) noexcept {
  if (end_timed(*work_)) parts_.push_back(*work_);
  for (Timed& timed : parts_) {
    timed.number = number;
    pending_.push_back(timed);
  }
  work_.reset();
  parts_.clear();
}

bool StreamTimes::begin_part(timeline::Label label) {
  if (!work_ || part_) return false;
  part_ = begin_timed(nullptr, label);
  return true;
}

void StreamTimes::end_part() noexcept {
  if (end_timed(*part_)) parts_.push_back(*part_);
  part_.reset();
}

uint64_t StreamTimes::stamp_of(CUevent event) {
  float ms = 0;
  device_.check(device_.driver().event_elapsed_time(&ms, origin_, event), "cuEventElapsedTime");
  return origin_stamp_ + static_cast<uint64_t>(static_cast<double>(ms) * ticks_per_ms_);
}

// Of what was lost nobody knows when it ran.
void StreamTimes::report(uint64_t number) noexcept {
  if (pending_.empty()) return;
  try {
    const ContextScope context(device_);
    for (; !pending_.empty() && pending_.front().number <= number; pending_.pop_front()) {
      const Timed& timed = pending_.front();
      const uint64_t begin = stamp_of(timed.begin), end = stamp_of(timed.end);
      timed.work ? timed.work->ran(lane_, begin, end) : lane_.record(timed.label, begin, end);
      free_.push_back(timed.begin);
      free_.push_back(timed.end);
    }
  } catch (...) {
    pending_.clear();
  }
  if (device_.lost()) pending_.clear();
}

}  // namespace headrace
