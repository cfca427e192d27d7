#include "backend/sim/sim_links.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace headrace {

SimLinks::SimLinks(std::shared_ptr<const Topology> topology)
    : machine_(sim::MachineSpec(std::move(topology))),
      lanes_(machine_.topology(), timeline::Clock::kTicks),
      flows_(machine_.topology().resources()) {}

Route SimLinks::route(Device to, Device from) const {
  if (from.is_host()) return machine_.route_from_host(to.id);
  return to.is_host() ? machine_.route_to_host(from.id) : machine_.route_between(from.id, to.id);
}

int64_t SimLinks::now_ps() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - epoch_).count() * 1000;
}

// Brings the flows to the present; whoever waits looks again when one has ended or paces have changed.
void SimLinks::advance() {
  const int64_t now = now_ps();
  while (flows_.next_end_ps() <= now) {
    flows_.advance(flows_.next_end_ps());
    for (int copy : flows_.take_ended()) copies_.at(copy).has_ended = true;
    flows_.share();
  }
  flows_.advance(now);
}

int SimLinks::start(Device to, Device from, size_t bytes) {
  Route way = route(to, from);
  std::this_thread::sleep_for(std::chrono::nanoseconds(way.latency_ps / 1000));
  std::lock_guard guard(mutex_);
  advance();
  const int number = next_++;
  Copy& copy = copies_[number];
  copy.route = std::move(way);
  copy.begin = timeline::enabled(timeline::kLink.source) ? ticks() : 0;
  flows_.start(number, copy.route.resources, bytes);
  flows_.share();
  changed_.notify_all();
  return number;
}

void SimLinks::finish(int number) {
  std::unique_lock guard(mutex_);
  const Copy& copy = copies_.at(number);
  for (advance(); !copy.has_ended; advance())
    changed_.wait_until(guard, epoch_ + std::chrono::nanoseconds(flows_.next_end_ps() / 1000 + 1));
  if (copy.begin) lanes_.passed(copy.route.resources, "copy", copy.begin, ticks());
  copies_.erase(number);
  changed_.notify_all();
}

}  // namespace headrace
