// The simulation itself: what ends, arrives and begins, moment by moment.
#include <algorithm>
#include <utility>

#include "backend/sim/schedule.h"
#include "base/check.h"

namespace headrace::sim {

void Schedule::check_time(std::string_view what, double ps) {
  check(
      ps < kMostPicoseconds, ErrorKind::kValue,
      "virtual machine: '{}' would take the clock beyond a hundred days; declare faster devices or links, or less work",
      what);
}

// Until `done()` or the limit, whichever is first. Both hold as soon as what ends at that moment has ended, before
// anything begins at it.
void Schedule::run(int64_t limit_ps, FunctionRef<bool()> done) {
  while (true) {
    end_and_arrive();
    if (done() || now_ >= limit_ps) return;
    begin_ready();
    const int64_t next = next_event();
    if (next > limit_ps || next == kNever) return;
    pass_to(next);
  }
}

void Schedule::end_and_arrive() {
  ended_.clear();
  for (; !ends_.empty() && ends_.top().at == now_; ends_.pop()) ended_.push_back(ends_.top().slot);
  if (flows_.next_end_ps() <= now_) {
    flows_.advance(now_);
    const std::span<const int> copies = flows_.take_ended();
    ended_.insert(ended_.end(), copies.begin(), copies.end());
  }
  std::ranges::sort(ended_, {}, [&](int slot) { return works_[slot].number; });
  for (int slot : ended_) finish(slot);
  for (; !arrivals_.empty() && works_[arrivals_.front()].push_ps <= now_; arrivals_.pop_front())
    arrive_at(arrivals_.front());
}

void Schedule::arrive_at(int slot) {
  Work& work = works_[slot];
  if (--work.waiting > 0) return;
  work.ready_ps = now_;
  streams_[work.stream].ready.push({work.priority, work.number, slot});
  idle_.push_back(work.stream);
}

void Schedule::finish(int slot) {
  Work& work = works_[slot];
  Stream& stream = streams_[work.stream];
  const Node node = path_.add({work.name, work.stream, work.begin_ps, now_}, work.cause);
  path_.release(work.cause);
  timeline_.ran(work.stream, work.name, work.begin_ps, now_);
  if (work.is_copy) timeline_.flowed(stream.route->resources, work.name, work.flow_ps, now_);

  for (int edge = work.first_edge; edge >= 0; edge = edges_[edge].next) {
    const int to = edges_[edge].to;
    if (works_[to].waiting == 1) replace(works_[to].cause, node);
    arrive_at(to);
    free_edges_.push_back(edge);
  }
  if (watched_ == kAny || watched_ == work.number) {
    if (blocker_ < 0) path_.hold(blocker_ = node);
    replace(blocker_, node);
  }
  if (stream.operations > 0) path_.release(stream.last);
  stream.last = node;
  stream.runs = false;
  stream.free_ps = now_;
  stream.busy_ps += now_ - work.begin_ps;
  ++stream.operations;
  idle_.push_back(work.stream);
  --running_;
  --pending_;
  work.number = kNone;
  free_works_.push_back(slot);
}

void Schedule::replace(Node& held, Node to) {
  path_.hold(to);
  path_.release(std::exchange(held, to));
}

void Schedule::begin_ready() {
  for (int stream : idle_) start_next(streams_[stream]);
  idle_.clear();
  for (; !departures_.empty() && departures_.top().at == now_; departures_.pop()) {
    const int slot = departures_.top().slot;
    Work& work = works_[slot];
    work.flow_ps = now_;
    flows_.advance(now_);
    flows_.start(slot, streams_[work.stream].route->resources, work.bytes);
  }
  flows_.share();
}

void Schedule::start_next(Stream& stream) {
  if (stream.runs || stream.ready.empty()) return;
  int slot = stream.ready.top().slot;
  if (stream.stall_ps > 0)
    slot = make_stall(stream);
  else
    stream.ready.pop();
  Work& work = works_[slot];
  if (stream.operations > 0 && stream.free_ps > work.ready_ps) replace(work.cause, stream.last);
  work.begin_ps = now_;
  check_time(work.name, static_cast<double>(now_) + static_cast<double>(work.duration_ps));
  stream.runs = true;
  ++running_;
  (work.is_copy ? departures_ : ends_).push({now_ + work.duration_ps, slot});
}

// A stall is work of its own, which was ready when the first that it holds up was.
int Schedule::make_stall(Stream& stream) {
  const int slot = new_slot();
  const Work& held_up = works_[stream.ready.top().slot];
  works_[slot] = {.number = ++pushed_,
                  .name = "stall",
                  .stream = held_up.stream,
                  .priority = held_up.priority,
                  .is_copy = false,
                  .waiting = 0,
                  .cause = held_up.cause,
                  .bytes = 0,
                  .duration_ps = std::exchange(stream.stall_ps, 0),
                  .push_ps = held_up.push_ps,
                  .ready_ps = held_up.ready_ps};
  path_.hold(held_up.cause);
  ++pending_;
  return slot;
}

int64_t Schedule::next_event() const {
  int64_t next = flows_.next_end_ps();
  if (!ends_.empty()) next = std::min(next, ends_.top().at);
  if (!departures_.empty()) next = std::min(next, departures_.top().at);
  if (!arrivals_.empty()) next = std::min(next, works_[arrivals_.front()].push_ps);
  return next;
}

void Schedule::pass_to(int64_t moment) {
  if (running_ > 0) busy_ps_ += moment - now_;
  if (running_ > 1) overlapping_ps_ += moment - now_;
  now_ = moment;
}

}  // namespace headrace::sim
