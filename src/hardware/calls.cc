// What a call costs.
#include "engine/runtime.h"
#include "hardware/probes.h"
#include "headrace/arithmetic.hpp"

namespace headrace::hardware {
namespace {

constexpr char kFromPython[] = "measured from Python: python -m headrace.hardware";

NDArray tiny_array() {
  const float value = 1;
  return NDArray::from_host(&value, {1}, DType::kFloat32);
}

Figure operation_push(Workbench& bench) {
  constexpr int kOperations = 1000;
  const NDArray x = tiny_array();
  std::vector<NDArray> results(kOperations);
  std::vector<double> seconds;
  for (int round = 0; round < 5 * bench.effort().rounds; ++round) {
    const uint64_t start = steady_ns();
    for (NDArray& result : results) result = x + 1;
    seconds.push_back(seconds_since(start) / kOperations);
    runtime().engine.wait_all();
  }
  return {median(std::move(seconds)), "waiting not counted"};
}

Figure operation_wait(Workbench& bench) {
  const NDArray x = tiny_array();
  return {seconds_per_item(bench.effort(), [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) (x + 1).wait_to_read();
  })};
}

Figure from_python(Workbench&) { throw NotMeasured(kFromPython); }

}  // namespace

std::vector<Row> call_rows() {
  return {
      {"operation_push", "y = x + 1 with one element, C++", Unit::kSeconds, {}, operation_push},
      {"operation_wait", "the same, waiting for each result", Unit::kSeconds, {}, operation_wait},
      {"python_call", "call of an empty Python function", Unit::kSeconds, {}, from_python},
      {"python_operation", "y = x + 1 with one element, Python", Unit::kSeconds, {}, from_python},
  };
}

}  // namespace headrace::hardware
