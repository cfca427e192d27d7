#include "device/flows.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace headrace {
namespace {

constexpr double kRounding = 1e-12;  // shares that differ by this part are equal

}  // namespace

Flows::Flows(std::span<const Resource> resources)
    : resources_(resources), loads_(resources.size()), left_(resources.size()), users_(resources.size()) {}

void Flows::advance(int64_t now_ps) {
  check(static_cast<double>(now_ps) < kMostPicoseconds, ErrorKind::kValue,
        "simulation: the simulated time is over a hundred days; declare faster links or fewer bytes");
  const int64_t passed = now_ps - now_ps_;
  for (Flow& flow : flows_) flow.left -= flow.rate * (static_cast<double>(passed) / kPicosecondsPerSecond);
  for (int resource : busy_) loads_[resource].busy_ps += passed;
  now_ps_ = now_ps;
}

std::span<const int> Flows::take_ended() {
  ended_.clear();
  if (next_end_ps_ > now_ps_) return ended_;
  std::erase_if(flows_, [&](const Flow& flow) {
    if (flow.end_ps <= now_ps_) ended_.push_back(flow.key);
    return flow.end_ps <= now_ps_;
  });
  std::sort(ended_.begin(), ended_.end());
  changed_ = true;
  return ended_;
}

void Flows::start(int key, std::span<const int> resources, uint64_t bytes) {
  for (int resource : resources) loads_[resource].bytes += bytes;
  flows_.push_back({key, resources, static_cast<double>(bytes)});
  changed_ = true;
}

void Flows::share() {
  if (!changed_) return;
  changed_ = false;
  busy_.clear();
  open_.clear();
  for (Flow& flow : flows_) {
    open_.push_back(&flow);
    for (int resource : flow.resources) {
      if (users_[resource]++ > 0) continue;
      left_[resource] = resources_[resource].bandwidth;
      busy_.push_back(resource);
    }
  }
  while (!open_.empty()) divide();
  next_end_ps_ = kNever;
  for (const Flow& flow : flows_) next_end_ps_ = std::min(next_end_ps_, flow.end_ps);
}

// The narrowest resource is divided equally among its flows, which are settled with that; the rest is left to others.
void Flows::divide() {
  double least = kUnlimited;
  for (int resource : busy_)
    if (users_[resource] > 0) least = std::min(least, left_[resource] / users_[resource]);
  const auto is_full = [&](int r) { return left_[r] / users_[r] <= least * (1 + kRounding); };
  settled_.clear();
  std::erase_if(open_, [&](Flow* flow) {
    const bool full = std::any_of(flow->resources.begin(), flow->resources.end(), is_full);
    if (full) settled_.push_back(flow);
    return full;
  });
  for (Flow* flow : settled_) {
    set_rate(*flow, least);
    for (int resource : flow->resources) {
      left_[resource] = std::max(0.0, left_[resource] - least);
      --users_[resource];
    }
  }
}

void Flows::set_rate(Flow& flow, double rate) {
  if (flow.rate == rate) return;
  flow.rate = rate;
  const double rest = std::max(0.0, flow.left) / rate * kPicosecondsPerSecond;
  check(static_cast<double>(now_ps_) + rest < kMostPicoseconds, ErrorKind::kValue,
        "simulation: a copy would end after over a hundred days; declare faster links or fewer bytes");
  flow.end_ps = now_ps_ + std::llround(rest);
}

}  // namespace headrace
