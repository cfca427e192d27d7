#include "kvstore/communication_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"

namespace headrace::kvstore {
namespace {

constexpr std::string_view kCollectiveNames[] = {"allreduce", "reduce", "broadcast"};

std::string place_text(const Topology& topology, Place place) {
  const std::string& name = topology.device_name(place.device);
  return place.slot == 0 ? name : fmt::format("{}[{}]", name, place.slot);
}

nlohmann::ordered_json place_json(const Topology& topology, Place place) {
  return {{"device", topology.device_name(place.device)}, {"slot", place.slot}};
}

}  // namespace

std::string_view collective_name(Collective collective) { return kCollectiveNames[static_cast<size_t>(collective)]; }

Collective parse_collective(std::string_view text) {
  const auto found = std::find(std::begin(kCollectiveNames), std::end(kCollectiveNames), text);
  check(found != std::end(kCollectiveNames), ErrorKind::kValue, "plan: '{}' is no collective operation; known are {}",
        text, fmt::join(kCollectiveNames, ", "));
  return static_cast<Collective>(found - std::begin(kCollectiveNames));
}

std::map<Place, std::vector<Range>> CommunicationPlan::scratch_ranges() const {
  std::map<Place, std::set<Range>> touched;
  for (const Step& step : steps_)
    if (step.target.slot > 0) touched[step.target].insert(step.range);
  std::map<Place, std::vector<Range>> joined;
  for (const auto& [place, ranges] : touched) {
    std::vector<Range>& out = joined[place];
    for (const Range& range : ranges) {
      if (!out.empty() && range.begin <= out.back().end)
        out.back().end = std::max(out.back().end, range.end);
      else
        out.push_back(range);
    }
  }
  return joined;
}

size_t CommunicationPlan::scratch_bytes(int device) const {
  size_t total = 0;
  for (const auto& [place, ranges] : scratch_ranges())
    if (place.device == device)
      for (const Range& range : ranges) total += range.size();
  return total;
}

std::string CommunicationPlan::text() const {
  std::vector<std::string> names;
  for (int device : devices_) names.push_back(topology_->device_name(device));
  std::string out = fmt::format("{} of {} bytes, {} on {}, devices {}: {} steps\n", collective_name(collective_),
                                bytes_, strategy_, topology_->name(), fmt::join(names, ", "), steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    out += fmt::format("{:>5}  {:<6} [{}, {})  {} {} {}", i, step.kind == StepKind::kCopy ? "copy" : "reduce",
                       step.range.begin, step.range.end, place_text(*topology_, step.source),
                       step.kind == StepKind::kCopy ? "->" : "+>", place_text(*topology_, step.target));
    if (!step.after.empty()) out += fmt::format("  after {}", fmt::join(step.after, ", "));
    out += '\n';
  }
  return out;
}

std::string CommunicationPlan::json() const {
  using Json = nlohmann::ordered_json;
  Json json = {{"topology", topology_->name()},
               {"strategy", strategy_},
               {"collective", collective_name(collective_)},
               {"bytes", bytes_},
               {"devices", Json::array()},
               {"owners", Json::array()},
               {"steps", Json::array()}};
  for (int device : devices_) json["devices"].push_back(topology_->device_name(device));
  for (const Owner& owner : owners_)
    json["owners"].push_back(
        {{"begin", owner.range.begin}, {"end", owner.range.end}, {"device", topology_->device_name(owner.device)}});
  for (const Step& step : steps_) {
    Json one = {{"kind", step.kind == StepKind::kCopy ? "copy" : "reduce"},
                {"source", place_json(*topology_, step.source)},
                {"target", place_json(*topology_, step.target)},
                {"begin", step.range.begin},
                {"end", step.range.end},
                {"slice", step.slice},
                {"after", step.after}};
    if (step.kind == StepKind::kCopy)
      for (int vertex : routes_[step.route].vertices) one["route"].push_back(topology_->vertex_name(vertex));
    json["steps"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

PlanBuilder::PlanBuilder(std::shared_ptr<const Topology> topology, std::string_view strategy, Collective collective,
                         std::vector<int> devices, size_t bytes) {
  plan_.topology_ = std::move(topology);
  plan_.strategy_ = strategy;
  plan_.collective_ = collective;
  plan_.devices_ = std::move(devices);
  plan_.bytes_ = bytes;
}

int PlanBuilder::add(Step step) {
  std::erase(step.after, -1);
  std::sort(step.after.begin(), step.after.end());
  step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
  step.slice = slice_;
  plan_.steps_.push_back(std::move(step));
  return static_cast<int>(plan_.steps_.size()) - 1;
}

int PlanBuilder::copy(Place source, Place target, Range range, std::vector<int> after, int channel) {
  if (range.empty()) return -1;
  const auto [route, is_new] =
      route_of_.try_emplace({source.device, target.device}, static_cast<int>(plan_.routes_.size()));
  if (is_new) {
    Routes& routes = routes_from_.try_emplace(source.device, *plan_.topology_, source.device).first->second;
    plan_.routes_.push_back(routes.to(target.device));
  }
  const auto [last, first] = last_in_channel_.try_emplace({source.device, target.device, channel}, -1);
  after.push_back(last->second);
  Step step{StepKind::kCopy, source, target, range, 0, std::move(after), route->second};
  return last->second = add(std::move(step));
}

int PlanBuilder::reduce(Place source, Place target, Range range, std::vector<int> after) {
  return range.empty() ? -1 : add({StepKind::kReduce, source, target, range, 0, std::move(after)});
}

void PlanBuilder::own(Range range, int device) {
  if (!range.empty()) plan_.owners_.push_back({range, device});
}

CommunicationPlan PlanBuilder::finish() && {
  std::sort(plan_.owners_.begin(), plan_.owners_.end(),
            [](const Owner& a, const Owner& b) { return a.range < b.range; });
  return std::move(plan_);
}

}  // namespace headrace::kvstore
