#include "kvstore/executor.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "kvstore/part_tasks.h"
#include "kvstore/placement.h"
#include "kvstore/reduction.h"
#include "op/invoke.h"

namespace headrace::kvstore {

Executor::Executor(CommunicationPlan plan, DType dtype)
    : plan_(std::move(plan)), dtype_(dtype), written_(static_cast<size_t>(plan_.topology().device_count())) {
  const size_t item = item_size(dtype);
  std::set<Part> written, touched;
  std::vector<size_t> fresh(written_.size());  // bytes of buffers that are written before they are read
  const auto use = [&](Place place, Range range, bool is_write) {
    const bool is_first = touched.insert({place, range}).second;
    if (is_first && is_write && place.slot == 0) fresh[static_cast<size_t>(place.device)] += range.size();
  };
  for (const Step& step : plan_.steps()) {
    const Range range = step.range;
    check(range.begin % item == 0 && range.end % item == 0, ErrorKind::kValue,
          "kvstore: a plan that divides memory at bytes {} and {} cannot be carried out on elements of {}", range.begin,
          range.end, dtype_name(dtype));
    check(is_given(step.source) || written.contains({step.source, range}), ErrorKind::kValue,
          "kvstore: a step of the plan reads bytes [{}, {}) of slot {} on {}, which no step before it writes as one",
          range.begin, range.end, step.source.slot, plan_.topology().device_name(step.source.device));
    written.insert({step.target, range});
    use(step.source, range, false);
    use(step.target, range, step.kind == StepKind::kCopy);
    if (step.target.slot == 0) written_[static_cast<size_t>(step.target.device)] = true;
  }
  for (const size_t bytes : fresh) given_.push_back(bytes == plan_.bytes());
  const auto overlap = [](const Part& a, const Part& b) { return a.first == b.first && b.second.begin < a.second.end; };
  const auto found = std::ranges::adjacent_find(touched, overlap);
  check(found == touched.end(), ErrorKind::kValue,
        "kvstore: steps of the plan touch parts of bytes [{}, {}) of a place and more than these",
        found == touched.end() ? 0 : found->second.begin, found == touched.end() ? 0 : found->second.end);
}

bool Executor::is_given(Place place) const {
  return place.slot == 0 && std::ranges::find(plan_.devices(), place.device) != plan_.devices().end();
}

Executor::Parts Executor::make_scratch() const {
  Parts scratch;
  for (const Step& step : plan_.steps()) {
    if (is_given(step.target)) continue;
    NDArray& memory = scratch[{step.target, step.range}];
    if (!memory)
      memory = NDArray::empty({static_cast<int64_t>(step.range.size() / item_size(dtype_))}, dtype_,
                              device_of(plan_.topology(), step.target.device));
  }
  return scratch;
}

Executor::Parts Executor::parts_of(std::span<const NDArray> buffers) const {
  const size_t item = item_size(dtype_);
  Parts parts = make_scratch();
  for (const Step& step : plan_.steps())
    for (const Place& place : {step.source, step.target}) {
      if (!is_given(place)) continue;
      const NDArray& buffer =
          buffers[static_cast<size_t>(std::ranges::find(plan_.devices(), place.device) - plan_.devices().begin())];
      NDArray& part = parts[{place, step.range}];
      if (!part)
        part = view_of(buffer, {{static_cast<int64_t>(step.range.size() / item)},
                                {1},
                                buffer.view()->offset() + static_cast<int64_t>(step.range.begin / item)});
    }
  return parts;
}

void Executor::check_buffers(std::span<const NDArray> buffers) const {
  check(buffers.size() == plan_.devices().size(), ErrorKind::kValue, "kvstore: the plan has {} buffers, got {}",
        plan_.devices().size(), buffers.size());
  for (const NDArray& buffer : buffers)
    check(buffer.dtype() == dtype_ && buffer.is_contiguous() &&
              static_cast<size_t>(buffer.size()) * item_size(dtype_) == plan_.bytes(),
          ErrorKind::kValue, "kvstore: the plan is for packed arrays of {} bytes of {}, got shape {} of {}",
          plan_.bytes(), dtype_name(dtype_), to_string(buffer.shape()), dtype_name(buffer.dtype()));
}

void Executor::run(std::span<const NDArray> buffers, const Reduction& reduction, const std::vector<bool>& kept) {
  check_buffers(buffers);
  const Parts parts = parts_of(buffers);
  if (operation_of(reduction)) return run_parts(buffers, parts, reduction, kept);
  for (const Step& step : plan_.steps()) {
    const NDArray &target = parts.at({step.target, step.range}), &source = parts.at({step.source, step.range});
    if (step.kind == StepKind::kCopy)
      copy_into(target, source);
    else
      reduction.combine_into(target, source);
  }
}

void Executor::run_parts(std::span<const NDArray> buffers, const Parts& parts, const Reduction& reduction,
                         const std::vector<bool>& kept) const {
  const PartTasks tasks(parts.size());
  std::map<Part, Var*> vars;
  std::map<int, std::vector<Var*>> of_device;  // the Vars of the parts of its buffer
  for (const auto& [part, array] : parts) {
    Var*& var = vars[part];
    var = is_given(part.first) ? tasks.var(vars.size() - 1) : &array.view()->storage()->var();
    if (is_given(part.first)) of_device[part.first.device].push_back(var);
  }
  const auto at_border = [&](auto&& action) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (const auto own = of_device.find(plan_.devices()[i]); own != of_device.end())
        action(buffers[i], own->second,
               !writes(own->first)                        ? BorderUse::kRead
               : !given_[static_cast<size_t>(own->first)] ? BorderUse::kChange
               : !kept.empty() && kept[i]                 ? BorderUse::kReplaceOrKeep
                                                          : BorderUse::kReplace);
  };
  const auto touched = [&](Place place, Range range) {
    const Part part{place, range};
    return Touched{parts.at(part), vars.at(part)};
  };
  at_border([&](const NDArray& buffer, const std::vector<Var*>& own, BorderUse use) { tasks.take(buffer, own, use); });
  for (const Step& step : plan_.steps()) {
    const Touched target = touched(step.target, step.range), source = touched(step.source, step.range);
    if (step.kind == StepKind::kCopy)
      tasks.copy(target, source);
    else
      tasks.combine(*operation_of(reduction), target, source);
  }
  at_border(
      [&](const NDArray& buffer, const std::vector<Var*>& own, BorderUse use) { tasks.give_back(buffer, own, use); });
}

}  // namespace headrace::kvstore
