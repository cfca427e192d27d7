#include "backend/sim/critical_path.h"

#include <algorithm>

namespace headrace::sim {
namespace {

void append(PathSummary& summary, const PathStep& step) {
  PathTotal& total = summary.totals[{step.name, step.stream}];
  ++total.count;
  total.time_ps += step.end_ps - step.begin_ps;
  summary.newest.push_back(step);
  if (summary.newest.size() > CriticalPath::kMostSteps) summary.newest.pop_front();
}

}  // namespace

CriticalPath::CriticalPath() { nodes_.push_back({{"", -1, 0, 0}, -1}); }

CriticalPath::Node CriticalPath::add(const PathStep& step, Node cause) {
  Node node = static_cast<Node>(nodes_.size());
  if (free_.empty()) {
    nodes_.push_back({step, cause});
  } else {
    node = free_.back();
    free_.pop_back();
    nodes_[node] = {step, cause};
  }
  ++nodes_[cause].children;
  nodes_[cause].any_child ^= node;
  return node;
}

void CriticalPath::release(Node node) {
  --nodes_[node].holds;
  while (node != root_ && nodes_[node].holds == 0 && nodes_[node].children == 0) {
    const Node cause = nodes_[node].cause;
    free_.push_back(node);
    --nodes_[cause].children;
    nodes_[cause].any_child ^= node;
    node = cause;
  }
  sum_up_trunk();
}

void CriticalPath::sum_up_trunk() {
  while (nodes_[root_].holds == 0 && nodes_[root_].children == 1) {
    free_.push_back(root_);
    root_ = nodes_[root_].any_child;
    append(trunk_, nodes_[root_].step);
  }
}

PathSummary CriticalPath::to(Node node) const {
  std::vector<const PathStep*> steps;
  for (; node != root_; node = nodes_[node].cause) steps.push_back(&nodes_[node].step);
  PathSummary summary = trunk_;
  std::for_each(steps.rbegin(), steps.rend(), [&](const PathStep* step) { append(summary, *step); });
  return summary;
}

}  // namespace headrace::sim
