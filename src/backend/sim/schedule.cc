#include "backend/sim/schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"

namespace headrace::sim {
namespace {

constexpr double kMostFlops = 1e24, kMostBytes = 1e18;  // of one operation

int64_t to_ps(double seconds) { return std::llround(seconds * kPicosecondsPerSecond); }

}  // namespace

Schedule::Schedule(const Machine& machine)
    : machine_(machine),
      numbers_(machine.gpu_count()),
      push_ps_(to_ps(machine.spec().push_seconds)),
      timeline_(machine.topology(), numbers_),
      streams_(numbers_.count()),
      flows_(machine.topology().resources()) {}

int Schedule::stream_of(const PushedWork& work) const {
  if (work.device.is_host()) return numbers_.number({});
  const int gpu = machine_.check_gpu(work.device.id, work.name);
  if (work.role != StreamRole::kCommunication || !work.source || *work.source == work.device)
    return numbers_.number({gpu, work.role});
  check(!work.source->is_host(), ErrorKind::kValue,
        "virtual machine: '{}' copies from {} to {} as communication between accelerators; use the role '{}'",
        work.name, to_string(*work.source), to_string(work.device), role_name(StreamRole::kHostToDevice));
  return numbers_.number({gpu, StreamRole::kCommunication, machine_.check_gpu(work.source->id, work.name)});
}

bool Schedule::is_copy(int stream) const {
  const StreamPlace place = numbers_.place(stream);
  return place.sender >= 0 || place.role == StreamRole::kHostToDevice || place.role == StreamRole::kDeviceToHost;
}

const Route& Schedule::route_of(int stream) {
  std::optional<Route>& route = streams_[stream].route;
  if (!route) {
    const StreamPlace place = numbers_.place(stream);
    route = place.sender >= 0                         ? machine_.route_between(place.sender, place.gpu)
            : place.role == StreamRole::kHostToDevice ? machine_.route_from_host(place.gpu)
                                                      : machine_.route_to_host(place.gpu);
  }
  return *route;
}

int64_t Schedule::duration(const PushedWork& work, int stream) {
  check(work.flops >= 0 && work.flops <= kMostFlops && work.bytes >= 0 && work.bytes <= kMostBytes, ErrorKind::kValue,
        "virtual machine: '{}' must take from 0 to {:g} flops and from 0 to {:g} bytes, got {:g} and {:g}", work.name,
        kMostFlops, kMostBytes, work.flops, work.bytes);
  if (is_copy(stream)) {
    const Route& route = route_of(stream);
    check_time(work.name, work.bytes / route.bandwidth * kPicosecondsPerSecond);
    return route.latency_ps;
  }
  const int gpu = numbers_.place(stream).gpu;
  const DeviceRates& rates = gpu == kHost ? machine_.host_rates() : machine_.gpu_rates(gpu);
  const double seconds = std::max(work.flops / rates.flops, work.bytes / rates.bandwidth);
  check_time(work.name, (rates.launch + seconds) * kPicosecondsPerSecond);
  return to_ps(rates.launch) + to_ps(seconds);
}

int Schedule::new_slot() {
  if (free_works_.empty()) {
    works_.emplace_back();
    return static_cast<int>(works_.size()) - 1;
  }
  const int slot = free_works_.back();
  free_works_.pop_back();
  return slot;
}

void Schedule::push(const PushedWork& work) {
  const int stream = stream_of(work);
  const int64_t takes = duration(work, stream);
  catch_up();
  const int64_t most = machine_.spec().most_pending;
  if (pending_ >= most) wait_until(kAny, [&] { return pending_ <= most / 2; });
  advance(push_ps_);

  const int slot = new_slot();
  const WorkRef self{slot, ++pushed_};
  ++pending_;
  works_[slot] = {.number = self.number,
                  .name = work.name,
                  .stream = stream,
                  .priority = work.priority,
                  .is_copy = is_copy(stream),
                  .cause = frontend_,
                  .bytes = static_cast<uint64_t>(std::llround(work.bytes)),
                  .duration_ps = takes,
                  .push_ps = clock_};
  path_.hold(frontend_);
  arrivals_.push_back(slot);
  const auto before = [&](WorkRef other) { follow(slot, other); };
  for (const void* resource : work.reads) {
    accesses_.prune(resource, [&](WorkRef other) { return ended(other); });
    accesses_.read(resource, self, before);
  }
  for (const void* resource : work.writes) accesses_.write(resource, self, before);
}

void Schedule::follow(int slot, WorkRef before) {
  if (ended(before) || before.slot == slot) return;
  Work& first = works_[before.slot];
  const Edge edge{slot, first.first_edge};
  if (free_edges_.empty()) {
    first.first_edge = static_cast<int>(edges_.size());
    edges_.push_back(edge);
  } else {
    first.first_edge = free_edges_.back();
    free_edges_.pop_back();
    edges_[first.first_edge] = edge;
  }
  ++works_[slot].waiting;
}

void Schedule::advance(int64_t ps) {
  check(ps >= 0, ErrorKind::kValue, "virtual machine: the clock cannot go back, got advance({})", ps);
  check_time("the frontend", static_cast<double>(clock_) + static_cast<double>(ps));
  clock_ += ps;
}

// What could begin before now has begun.
void Schedule::stall(int gpu, int64_t ps) {
  check(ps >= 0, ErrorKind::kValue, "virtual machine: a stall cannot take {} ps", ps);
  const int stream = numbers_.number({machine_.check_gpu(gpu, "stall"), StreamRole::kCompute});
  catch_up();
  streams_[stream].stall_ps = ps;
}

void Schedule::forget_stalls() noexcept {
  for (Stream& stream : streams_) stream.stall_ps = 0;
}

void Schedule::wait(const void* resource, bool for_all) {
  for (const WorkRef work : accesses_.last(resource, for_all)) wait_until(work.number, [&] { return ended(work); });
}

void Schedule::wait_all() {
  wait_until(kAny, [&] { return pending_ == 0; });
}

void Schedule::wait_until(uint64_t watched, FunctionRef<bool()> done) {
  if (done()) return;
  watched_ = watched;
  run(kNever, done);
  watched_ = kNone;
  if (now_ > clock_) {
    waiting_ps_ += now_ - clock_;
    timeline_.waited(clock_, now_);
    clock_ = now_;
    replace(frontend_, blocker_);
  }
  path_.release(std::exchange(blocker_, -1));
}

// Up to the frontend's clock. What streams choose then stays open: the frontend may push more at the same moment.
void Schedule::catch_up() {
  run(clock_, [] { return false; });
}

VirtualReport Schedule::report() {
  catch_up();
  VirtualReport report{.machine = machine_.topology().name(),
                       .total_ps = clock_,
                       .pushing_ps = clock_ - waiting_ps_,
                       .waiting_ps = waiting_ps_,
                       .ended = static_cast<int64_t>(pushed_) - pending_,
                       .pending = pending_,
                       .busy_ps = busy_ps_,
                       .overlapping_ps = overlapping_ps_,
                       .path_frontend_ps = clock_};
  for (int i = 0; i < numbers_.count(); ++i) {
    const Stream& stream = streams_[i];
    const StreamPlace place = numbers_.place(i);
    if (stream.operations > 0)
      report.streams.push_back({place.device(), place.name(), stream.busy_ps, stream.operations});
  }
  const std::span<const Resource> resources = machine_.topology().resources();
  for (size_t i = 0; i < resources.size(); ++i) {
    const ResourceLoad& load = flows_.loads()[i];
    if (load.bytes > 0) report.links.push_back({resources[i].name, load.busy_ps, load.bytes});
  }
  const auto place = [&](int stream) { return numbers_.place(stream).device() + " " + numbers_.place(stream).name(); };
  const PathSummary path = path_.to(frontend_);
  for (const auto& [key, total] : path.totals) {
    report.path.push_back({std::string(key.first), place(key.second), total.time_ps, total.count});
    report.path_frontend_ps -= total.time_ps;
  }
  std::ranges::stable_sort(report.path, std::greater<>(), &PathUse::time_ps);
  for (const PathStep& step : path.newest)
    report.last.push_back({step.name, place(step.stream), step.begin_ps, step.end_ps});
  return report;
}

}  // namespace headrace::sim
