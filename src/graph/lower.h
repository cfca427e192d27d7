// Lowering: a traced graph as a list of steps in the order in which they run. Compositions are opened, views are told
// from computation; passes (graph/passes.h) work on this form, compiled graphs (graph/compiled_graph.h) run it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "op/invoke.h"

namespace headrace {

struct Step;

// One array of a lowered graph.
struct Value {
  enum class Source : uint8_t { kInput, kConstant, kStep };
  Source source;
  ViewPtr type;      // shape, dtype, strides; for a view the offset in its root
  NDArray constant;  // of kConstant
  int root;          // the value in whose memory it lies: itself unless it is a view
};

// One operation. A view step does nothing when it runs: its result is another look at its input's memory.
struct Step {
  const OpDef* op;
  AttrsPtr attrs;
  SmallVector<int, 6> inputs, outputs;
  bool is_view = false;
  double cost_ns = 0;
  double flops = 0;                       // see Infer
  uint64_t ticket = 0;                    // of a pointwise operator its ComputeType
  std::shared_ptr<const OpDef> own = {};  // an operator made for this graph (a fused one)
  std::vector<std::string> fused = {};    // what it was made of
};

struct Lowered {
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<int> inputs;
  std::vector<int> outputs;  // -1: none

  // The roots of the inputs that the step changes in place.
  std::vector<int> changed_by(const Step& step) const;
};

// The traced arrays `outputs` as functions of the abstract arrays `inputs`. An output that shares memory with an input,
// a constant or another output is copied. A none output stays none.
Lowered lower(std::span<const NDArray> inputs, std::span<const NDArray> outputs);

// "%3 = Convolution(%0, %1, kernel=(3, 3)) : float32 (1, 8, 6, 6)", one line per step.
std::string to_text(const Lowered& graph);

}  // namespace headrace
