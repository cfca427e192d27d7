#include "kvstore/interpreter.h"

#include <map>
#include <numeric>

#include "base/check.h"

namespace headrace::kvstore {
namespace {

struct Memory {
  std::vector<float> values;
  std::vector<bool> present;
};

class Interpreter {
 public:
  Interpreter(const CommunicationPlan& plan, HostBuffers buffers)
      : plan_(plan), elements_(plan.bytes() / sizeof(float)) {
    const Topology& topology = plan.topology();
    check(plan.bytes() % sizeof(float) == 0, ErrorKind::kValue,
          "interpret: the plan is for {} bytes, which are no whole number of floats", plan.bytes());
    check(static_cast<int>(buffers.size()) == topology.device_count(), ErrorKind::kValue,
          "interpret: expected a buffer for each of {} devices, empty for those that hold nothing, got {}",
          topology.device_count(), buffers.size());
    for (int device = 0; device < topology.device_count(); ++device) {
      const bool absent = buffers[device].empty();
      check(absent || buffers[device].size() == elements_, ErrorKind::kValue,
            "interpret: the buffer of {} must have {} floats or none, got {}", topology.device_name(device), elements_,
            buffers[device].size());
      if (!absent) memory_[{device}] = {std::move(buffers[device]), std::vector<bool>(elements_, true)};
    }
  }

  void run(int number) {
    const Step& step = plan_.steps()[number];
    Memory& target = memory_of(step.target);
    const Memory& source = memory_of(step.source);
    for (size_t i = step.range.begin / sizeof(float); i < step.range.end / sizeof(float); ++i) {
      check_present(source, step.source, number, i);
      if (step.kind == StepKind::kCopy) {
        target.values[i] = source.values[i];
        target.present[i] = true;
      } else {
        check_present(target, step.target, number, i);
        target.values[i] += source.values[i];
      }
    }
  }

  HostBuffers finish() && {
    HostBuffers buffers(plan_.topology().device_count());
    for (auto& [place, memory] : memory_)
      if (place.slot == 0) buffers[place.device] = std::move(memory.values);
    return buffers;
  }

 private:
  Memory& memory_of(Place place) {
    Memory& memory = memory_[place];
    memory.values.resize(elements_);
    memory.present.resize(elements_);
    return memory;
  }

  void check_present(const Memory& memory, Place place, int number, size_t element) const {
    check(memory.present[element], ErrorKind::kRuntime,
          "interpret: step {} reads float {} of slot {} on {}, which nothing has written", number, element, place.slot,
          plan_.topology().device_name(place.device));
  }

  const CommunicationPlan& plan_;
  const size_t elements_;
  std::map<Place, Memory> memory_;
};

}  // namespace

HostBuffers interpret(const CommunicationPlan& plan, HostBuffers buffers, std::span<const int> order) {
  const size_t count = plan.steps().size();
  std::vector<int> own(count);
  std::iota(own.begin(), own.end(), 0);
  if (order.empty()) order = own;
  check(order.size() == count, ErrorKind::kValue, "interpret: the order has {} steps, the plan {}", order.size(),
        count);
  Interpreter interpreter(plan, std::move(buffers));
  std::vector<bool> done(count);
  for (int number : order) {
    check(number >= 0 && number < static_cast<int>(count) && !done[number], ErrorKind::kValue,
          "interpret: the order has step {} twice, or there is no such step", number);
    for (int before : plan.steps()[number].after)
      check(done[before], ErrorKind::kRuntime, "interpret: step {} comes before step {}, which it needs", number,
            before);
    interpreter.run(number);
    done[number] = true;
  }
  return std::move(interpreter).finish();
}

}  // namespace headrace::kvstore
