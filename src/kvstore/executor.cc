#include "kvstore/executor.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "kvstore/placement.h"
#include "op/invoke.h"

namespace headrace::kvstore {

Executor::Executor(CommunicationPlan plan, DType dtype)
    : plan_(std::move(plan)), dtype_(dtype), written_(static_cast<size_t>(plan_.topology().device_count())) {
  const size_t item = item_size(dtype);
  std::set<Part> written;
  for (const Step& step : plan_.steps()) {
    const Range range = step.range;
    check(range.begin % item == 0 && range.end % item == 0, ErrorKind::kValue,
          "kvstore: a plan that divides memory at bytes {} and {} cannot be carried out on elements of {}", range.begin,
          range.end, dtype_name(dtype));
    check(is_given(step.source) || written.contains({step.source, range}), ErrorKind::kValue,
          "kvstore: a step of the plan reads bytes [{}, {}) of slot {} on {}, which no step before it writes as one",
          range.begin, range.end, step.source.slot, plan_.topology().device_name(step.source.device));
    written.insert({step.target, range});
    if (step.target.slot == 0) written_[static_cast<size_t>(step.target.device)] = true;
  }
}

bool Executor::is_given(Place place) const {
  return place.slot == 0 && std::ranges::find(plan_.devices(), place.device) != plan_.devices().end();
}

Executor::Scratch Executor::make_scratch() const {
  Scratch scratch;
  for (const Step& step : plan_.steps()) {
    if (is_given(step.target)) continue;
    NDArray& memory = scratch[{step.target, step.range}];
    if (!memory)
      memory = NDArray::empty({static_cast<int64_t>(step.range.size() / item_size(dtype_))}, dtype_,
                              device_of(plan_.topology(), step.target.device));
  }
  return scratch;
}

void Executor::run(std::span<const NDArray> buffers, const Reduction& reduction) {
  const std::span<const int> devices = plan_.devices();
  const size_t item = item_size(dtype_);
  check(buffers.size() == devices.size(), ErrorKind::kValue, "kvstore: the plan has {} buffers, got {}", devices.size(),
        buffers.size());
  for (const NDArray& buffer : buffers)
    check(buffer.dtype() == dtype_ && buffer.is_contiguous() &&
              static_cast<size_t>(buffer.size()) * item == plan_.bytes(),
          ErrorKind::kValue, "kvstore: the plan is for packed arrays of {} bytes of {}, got shape {} of {}",
          plan_.bytes(), dtype_name(dtype_), to_string(buffer.shape()), dtype_name(buffer.dtype()));
  if (sets_.size() < kScratchSets) sets_.push_back(make_scratch());
  const Scratch& scratch = sets_[runs_++ % sets_.size()];
  const auto part = [&](Place place, Range range) {
    if (!is_given(place)) return scratch.at({place, range});
    const NDArray& buffer = buffers[static_cast<size_t>(std::ranges::find(devices, place.device) - devices.begin())];
    const auto first = static_cast<int64_t>(range.begin / item);
    return view_of(buffer, {{static_cast<int64_t>(range.size() / item)}, {1}, buffer.view()->offset() + first});
  };
  for (const Step& step : plan_.steps()) {
    if (step.kind == StepKind::kCopy)
      copy_into(part(step.target, step.range), part(step.source, step.range));
    else
      reduction.combine_into(part(step.target, step.range), part(step.source, step.range));
  }
}

}  // namespace headrace::kvstore
