#include "kvstore/simulator.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace headrace::kvstore {
namespace {

class Simulator {
 public:
  explicit Simulator(const CommunicationPlan& plan)
      : plan_(plan),
        waiting_(plan.steps().size()),
        successors_(plan.steps().size()),
        flows_(plan.topology().resources()) {
    result_.steps.resize(plan.steps().size());
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
    while (!starts_.empty() || flows_.next_end_ps() != kNever) {
      now_ = std::min(starts_.empty() ? kNever : starts_.top().first, flows_.next_end_ps());
      flows_.advance(now_);
      for (int step : flows_.take_ended()) finish(step);
      start_steps();
      flows_.share();
    }
    result_.total_ps = now_;
    result_.resources.assign(flows_.loads().begin(), flows_.loads().end());
    return std::move(result_);
  }

 private:
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

  void start_steps() {
    while (!starts_.empty() && starts_.top().first == now_) {
      const int number = starts_.top().second;
      starts_.pop();
      result_.steps[number].begin_ps = now_;
      const std::vector<int>& resources = resources_of(number);
      if (resources.empty())
        finish(number);
      else
        flows_.start(number, resources, plan_.steps()[number].range.size());
    }
  }

  const CommunicationPlan& plan_;
  Simulation result_;
  int64_t now_ = 0;
  std::vector<int> waiting_;                  // by step: how many others it still needs
  std::vector<std::vector<int>> successors_;  // by step
  std::vector<std::vector<int>> adding_;      // by device: the resource of its sums, if that is limited
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  Flows flows_;
};

}  // namespace

Simulation simulate(const CommunicationPlan& plan) { return Simulator(plan).run(); }

}  // namespace headrace::kvstore
