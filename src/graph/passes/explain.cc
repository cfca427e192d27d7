#include "base/check.h"
#include "graph/compiled_graph.h"
#include "graph/passes.h"

namespace headrace {

std::string explain_graph(const CompiledGraph& compiled) {
  const Lowered& graph = compiled.graph();
  std::string text = to_text(graph);
  for (const Step& step : graph.steps) {
    if (step.fused.empty()) continue;
    text += fmt::format("%{} fuses {}\n", step.outputs[0], fmt::join(step.fused, ", "));
  }
  double flops = 0, bytes = 0;
  for (const CompiledGraph::Segment& segment : compiled.segments()) {
    flops += segment.flops;
    bytes += segment.bytes;
  }
  text += fmt::format(
      "{} steps, {:.1f} us on one core (estimated), {:.3f} MFLOP in products and convolutions, {:.3f} MB of traffic, "
      "{:.3f} MB of scratch memory",
      graph.steps.size(), compiled.cost_ns() / 1e3, flops / 1e6, bytes / 1e6,
      static_cast<double>(compiled.scratch_bytes()) / 1e6);
  if (compiled.kept_bytes() > 0)
    text += fmt::format(", {:.3f} MB kept for backward", static_cast<double>(compiled.kept_bytes()) / 1e6);
  return text + "\n";
}

}  // namespace headrace
