#include "base/check.h"
#include "graph/passes.h"
#include "graph/plan.h"

namespace headrace {

std::string explain_plan(const Plan& plan) {
  const Lowered& graph = plan.graph();
  std::string text = to_text(graph);
  for (const Step& step : graph.steps) {
    if (step.fused.empty()) continue;
    text += fmt::format("%{} fuses {}\n", step.outputs[0], fmt::join(step.fused, ", "));
  }
  double flops = 0, bytes = 0;
  for (const Plan::Segment& segment : plan.segments()) {
    flops += segment.flops;
    bytes += segment.bytes;
  }
  text += fmt::format(
      "{} steps, {:.1f} us on one core (estimated), {:.3f} MFLOP in products and convolutions, {:.3f} MB of traffic, "
      "{:.3f} MB of scratch memory",
      graph.steps.size(), plan.cost_ns() / 1e3, flops / 1e6, bytes / 1e6,
      static_cast<double>(plan.scratch_bytes()) / 1e6);
  if (plan.kept_bytes() > 0)
    text += fmt::format(", {:.3f} MB kept for backward", static_cast<double>(plan.kept_bytes()) / 1e6);
  return text + "\n";
}

}  // namespace headrace
