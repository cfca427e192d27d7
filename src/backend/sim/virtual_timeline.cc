#include "backend/sim/virtual_timeline.h"

namespace headrace::sim {
namespace {

// Stamps are nanoseconds.
uint64_t stamp(int64_t ps) { return static_cast<uint64_t>(ps) / 1000; }

timeline::Track track(const std::string& name, const std::string& group) {
  return timeline::Track(name, group, timeline::Clock::kVirtual);
}

}  // namespace

VirtualTimeline::VirtualTimeline(const Topology& topology, StreamNumbers numbers)
    : numbers_(numbers), streams_(numbers.count()), links_(topology, timeline::Clock::kVirtual) {}

// The frontend's lane is made first, since lanes are drawn in the order in which they are made.
bool VirtualTimeline::records(const timeline::Category& category) {
  if (!timeline::enabled(category.source)) return false;
  if (!frontend_) frontend_ = track("frontend", StreamPlace().device());
  return true;
}

void VirtualTimeline::ran(int stream, const char* name, int64_t begin_ps, int64_t end_ps) {
  if (!records(timeline::kOperator)) return;
  std::optional<timeline::Track>& lane = streams_[stream];
  if (!lane) {
    const StreamPlace place = numbers_.place(stream);
    lane = track(place.name(), place.device());
  }
  lane->record(name, stamp(begin_ps), stamp(end_ps));
}

void VirtualTimeline::flowed(std::span<const int> resources, const char* name, int64_t begin_ps, int64_t end_ps) {
  if (records(timeline::kLink)) links_.passed(resources, name, stamp(begin_ps), stamp(end_ps));
}

void VirtualTimeline::waited(int64_t begin_ps, int64_t end_ps) {
  if (records(timeline::kCall)) frontend_->record({"wait", timeline::kCall}, stamp(begin_ps), stamp(end_ps));
}

}  // namespace headrace::sim
