#include "kvstore/planner.h"

#include <algorithm>

#include "base/check.h"

namespace headrace::kvstore {
namespace {

constexpr size_t kMostSteps = 20000;  // of a plan that is tried for its slices

Prediction predict_sliced(const Strategy& strategy, CollectiveRequest request, const Prediction& whole) {
  if (request.slices > 1) return predict(make_plan(strategy.name, request), request.slices);
  Prediction best = whole;
  for (int slices = 2; slices <= kMostSlicesTried && whole.steps * slices <= kMostSteps; slices *= 2) {
    request.slices = slices;
    const Prediction next = predict(make_plan(strategy.name, request), slices);
    if (next.total_ps >= best.total_ps) break;
    best = next;
  }
  return best;
}

}  // namespace

Prediction predict(const CommunicationPlan& plan, int slices) {
  const Simulation simulation = simulate(plan);
  Prediction result{.slices = slices, .total_ps = simulation.total_ps, .steps = plan.steps().size()};
  std::vector<size_t> scratch(plan.topology().device_count());
  for (const auto& [place, ranges] : plan.scratch_ranges())
    for (const Range& range : ranges) scratch[place.device] += range.size();
  result.scratch_bytes = *std::max_element(scratch.begin(), scratch.end());
  const auto busiest =
      std::max_element(simulation.resources.begin(), simulation.resources.end(),
                       [](const ResourceLoad& a, const ResourceLoad& b) { return a.busy_ps < b.busy_ps; });
  if (busiest != simulation.resources.end() && busiest->busy_ps > 0) {
    result.busiest = static_cast<int>(busiest - simulation.resources.begin());
    result.busiest_share = static_cast<double>(busiest->busy_ps) / static_cast<double>(simulation.total_ps);
  }
  return result;
}

Comparison predict(const Strategy& strategy, const CollectiveRequest& request) {
  Comparison row{&strategy, obstacle_of(strategy, request)};
  if (!row.possible()) return row;
  CollectiveRequest whole = request;
  whole.slices = 1;
  row.whole = predict(make_plan(strategy.name, whole), 1);
  row.sliced = predict_sliced(strategy, request, row.whole);
  return row;
}

std::vector<Comparison> compare(const CollectiveRequest& request) {
  std::vector<Comparison> rows;
  for (const Strategy& strategy : strategies()) rows.push_back(predict(strategy, request));
  return rows;
}

const Comparison* fastest(const std::vector<Comparison>& rows) {
  const Comparison* best = nullptr;
  for (const Comparison& row : rows)
    if (row.possible() && (!best || row.sliced.total_ps < best->sliced.total_ps)) best = &row;
  return best;
}

CommunicationPlan best_plan(const CollectiveRequest& request) {
  const std::vector<Comparison> rows = compare(request);
  const Comparison* best = fastest(rows);
  CollectiveRequest chosen = request;
  chosen.slices = best->sliced.slices;
  return make_plan(best->strategy->name, chosen);
}

}  // namespace headrace::kvstore
