#include "kvstore/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/check.h"

namespace headrace::kvstore {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;
constexpr double kMostPicoseconds = 8.64e18;  // a hundred days, and less than int64_t holds
constexpr double kRounding = 1e-12;           // shares that differ by this part are equal

class Simulator {
 public:
  explicit Simulator(const CommunicationPlan& plan)
      : plan_(plan), waiting_(plan.steps().size()), successors_(plan.steps().size()) {
    for (const Resource& resource : plan.topology().resources()) bandwidth_.push_back(resource.bandwidth);
    result_.steps.resize(plan.steps().size());
    result_.resources.resize(bandwidth_.size());
    left_.resize(bandwidth_.size());
    users_.resize(bandwidth_.size());
    for (int device = 0; device < plan.topology().device_count(); ++device) {
      const int resource = plan.topology().reduce_resource(device);
      adding_.push_back(resource < 0 ? std::vector<int>() : std::vector<int>{resource});
    }
  }

  Simulation run() {
    const std::span<const Step> steps = plan_.steps();
    for (size_t i = 0; i < steps.size(); ++i) {
      waiting_[i] = static_cast<int>(steps[i].after.size());
      for (int before : steps[i].after) successors_[before].push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < steps.size(); ++i)
      if (waiting_[i] == 0) schedule(static_cast<int>(i));
    while (!starts_.empty() || !flows_.empty()) {
      advance();
      const bool ended = end_flows();
      if (start_flows() || ended) share();
    }
    result_.total_ps = now_;
    return std::move(result_);
  }

 private:
  struct Flow {
    int step;
    double left;  // bytes
    double rate = 0;
    int64_t end_ps = 0;
  };
  using Start = std::pair<int64_t, int>;  // time, step

  const std::vector<int>& resources_of(int number) const {
    const Step& step = plan_.steps()[number];
    return step.kind == StepKind::kCopy ? plan_.routes()[step.route].resources : adding_[step.target.device];
  }

  void schedule(int number) {
    const Step& step = plan_.steps()[number];
    starts_.emplace(now_ + (step.kind == StepKind::kCopy ? plan_.routes()[step.route].latency_ps : 0), number);
  }

  void finish(int number) {
    result_.steps[number].end_ps = now_;
    for (int next : successors_[number])
      if (--waiting_[next] == 0) schedule(next);
  }

  // To the next moment at which something begins or ends.
  void advance() {
    int64_t next = starts_.empty() ? std::numeric_limits<int64_t>::max() : starts_.top().first;
    for (const Flow& flow : flows_) next = std::min(next, flow.end_ps);
    const int64_t passed = next - now_;
    for (Flow& flow : flows_) flow.left -= flow.rate * (static_cast<double>(passed) / kPicosecondsPerSecond);
    for (int resource : busy_) result_.resources[resource].busy_ps += passed;
    now_ = next;
    check(static_cast<double>(now_) < kMostPicoseconds, ErrorKind::kValue,
          "plan: the simulated time is over a hundred days; declare faster links or fewer bytes");
  }

  bool end_flows() {
    std::vector<int> ended;
    std::erase_if(flows_, [&](const Flow& flow) {
      if (flow.end_ps <= now_) ended.push_back(flow.step);
      return flow.end_ps <= now_;
    });
    std::sort(ended.begin(), ended.end());
    for (int step : ended) finish(step);
    return !ended.empty();
  }

  bool start_flows() {
    bool started = false;
    while (!starts_.empty() && starts_.top().first == now_) {
      const int number = starts_.top().second;
      starts_.pop();
      const Step& step = plan_.steps()[number];
      result_.steps[number].begin_ps = now_;
      for (int resource : resources_of(number)) result_.resources[resource].bytes += step.range.size();
      if (resources_of(number).empty()) {
        finish(number);
      } else {
        flows_.push_back({number, static_cast<double>(step.range.size())});
        started = true;
      }
    }
    return started;
  }

  // Gives every flow its rate: the narrowest resource is divided equally among its flows, they are settled with that,
  // and the rest is divided in the same way.
  void share() {
    busy_.clear();
    for (const Flow& flow : flows_)
      for (int resource : resources_of(flow.step)) {
        if (users_[resource]++ > 0) continue;
        left_[resource] = bandwidth_[resource];
        busy_.push_back(resource);
      }
    std::vector<Flow*> open;
    for (Flow& flow : flows_) open.push_back(&flow);
    while (!open.empty()) {
      double least = std::numeric_limits<double>::infinity();
      for (int resource : busy_)
        if (users_[resource] > 0) least = std::min(least, left_[resource] / users_[resource]);
      std::vector<Flow*> settled;
      const auto is_full = [&](int r) { return left_[r] / users_[r] <= least * (1 + kRounding); };
      std::erase_if(open, [&](Flow* flow) {
        const std::vector<int>& resources = resources_of(flow->step);
        const bool full = std::any_of(resources.begin(), resources.end(), is_full);
        if (full) settled.push_back(flow);
        return full;
      });
      for (Flow* flow : settled) {
        set_rate(*flow, least);
        for (int resource : resources_of(flow->step)) {
          left_[resource] = std::max(0.0, left_[resource] - least);
          --users_[resource];
        }
      }
    }
  }

  void set_rate(Flow& flow, double rate) {
    if (flow.rate == rate) return;
    flow.rate = rate;
    const double rest = std::max(0.0, flow.left) / rate * kPicosecondsPerSecond;
    check(rest < kMostPicoseconds, ErrorKind::kValue,
          "plan: a copy would take over a hundred days; declare faster links or fewer bytes");
    flow.end_ps = now_ + std::llround(rest);
  }

  const CommunicationPlan& plan_;
  Simulation result_;
  int64_t now_ = 0;
  std::vector<int> waiting_;                  // by step: how many others it still needs
  std::vector<std::vector<int>> successors_;  // by step
  std::vector<std::vector<int>> adding_;      // by device: the resource of its sums, if that is limited
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  std::vector<Flow> flows_;
  std::vector<double> bandwidth_, left_;  // by resource
  std::vector<int> users_;                // by resource: flows without a rate
  std::vector<int> busy_;                 // resources with flows
};

}  // namespace

Simulation simulate(const CommunicationPlan& plan) { return Simulator(plan).run(); }

}  // namespace headrace::kvstore
