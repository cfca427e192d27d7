#include "kvstore/rings.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace headrace::kvstore {
namespace {

constexpr int kTries = 20000;       // hops tried for one width
constexpr double kRounding = 1e-9;  // a difference of this part is none

class RingSearch {
 public:
  RingSearch(const Topology& topology, std::span<const int> devices)
      : topology_(topology), devices_(devices.begin(), devices.end()), hops_(devices.size() * devices.size()) {
    for (const Resource& resource : topology.resources()) left_.push_back(resource.bandwidth);
  }

  std::vector<Ring> find(int most) {
    std::vector<Ring> rings;
    direct_only_ = true;
    while (static_cast<int>(rings.size()) < most) {
      Ring ring = widest();
      if (ring.devices.empty() && rings.empty() && direct_only_) {
        direct_only_ = false;
        ring = widest();
      }
      if (ring.devices.empty()) break;
      rings.push_back(std::move(ring));
    }
    return rings;
  }

 private:
  using Uses = std::vector<int>;  // how many hops of a ring pass each resource

  const Route& hop(size_t a, size_t b) {
    std::optional<Route>& route = hops_[a * devices_.size() + b];
    if (!route) route = topology_.route(devices_[a], devices_[b]);
    return *route;
  }

  void count(size_t a, size_t b, Uses& uses, int by) {
    for (int resource : hop(a, b).resources) uses[resource] += by;
  }

  // Whether the hop, forward and backward, leaves `width` for each of its uses.
  bool fits(size_t a, size_t b, double width, const Uses& forward, const Uses& backward) {
    const auto room = [&](const Route& route) {
      return std::all_of(route.resources.begin(), route.resources.end(), [&](int r) {
        return width * std::max(forward[r], backward[r]) <= left_[r] * (1 + kRounding);
      });
    };
    return room(hop(a, b)) && room(hop(b, a));
  }

  // Every width that a ring can have: what is left of a resource, divided among the hops that pass it.
  std::set<double, std::greater<>> widths() const {
    std::set<double, std::greater<>> all;
    for (double bandwidth : std::set<double>(left_.begin(), left_.end()))
      for (size_t uses = 1; uses <= devices_.size() && bandwidth > 0; ++uses)
        all.insert(bandwidth / static_cast<double>(uses));
    return all;
  }

  bool extend(std::vector<size_t>& path, std::vector<bool>& used, double width, Uses& forward, Uses& backward) {
    const size_t n = devices_.size(), last = path.back();
    const bool closing = path.size() == n;
    for (size_t next = closing ? 0 : 1; next < (closing ? 1 : n); ++next) {
      if (used[next] && !closing) continue;
      if (direct_only_ && !hop(last, next).direct()) continue;
      if (++tries_ > kTries) return false;
      count(last, next, forward, 1);
      count(next, last, backward, 1);
      path.push_back(next);
      used[next] = true;
      if (fits(last, next, width, forward, backward) && (closing || extend(path, used, width, forward, backward)))
        return true;
      path.pop_back();
      used[next] = closing;
      count(last, next, forward, -1);
      count(next, last, backward, -1);
    }
    return false;
  }

  Ring widest() {
    for (double width : widths()) {
      std::vector<size_t> path{0};
      std::vector<bool> used(devices_.size());
      used[0] = true;
      Uses forward(left_.size()), backward(left_.size());
      tries_ = 0;
      if (!extend(path, used, width, forward, backward)) continue;
      for (size_t r = 0; r < left_.size(); ++r) {
        const double taken = width * std::max(forward[r], backward[r]);
        left_[r] = taken > left_[r] * (1 - kRounding) ? 0 : left_[r] - taken;
      }
      path.pop_back();
      Ring ring{{}, width};
      for (size_t i : path) ring.devices.push_back(devices_[i]);
      return ring;
    }
    return {};
  }

  const Topology& topology_;
  const std::vector<int> devices_;
  std::vector<std::optional<Route>> hops_;  // by both ends; found when first asked for
  std::vector<double> left_;                // bandwidth by resource
  bool direct_only_ = true;
  int tries_ = 0;
};

}  // namespace

std::vector<Ring> find_rings(const Topology& topology, std::span<const int> devices, int most) {
  if (devices.size() < 2) return {};
  return RingSearch(topology, devices).find(most);
}

}  // namespace headrace::kvstore
