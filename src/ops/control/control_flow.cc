// Operators whose bodies are graphs; src/graph/control_flow.cc runs them.
#include "ops/control/control_flow.h"

#include "op/op_def.h"
#include "op/quantization.h"
#include "op/rule.h"

namespace headrace {
namespace {

constexpr char kUnsampled[] = "its body is a graph, which a sample does not hold";

template <class A>
OpDef body_operator(const char* name, ControlFlow control_flow, const char* doc) {
  return general<A>(
      {.name = name,
       .doc = doc,
       .variadic = true,
       .output_count = [](const A& a) { return static_cast<size_t>(std::max<int64_t>(a.num_outputs, 1)); },
       .control_flow = control_flow,
       .infer =
           [](Infer& i, const A&) {
             i.require(false, ErrorKind::kRuntime,
                       "the body is a graph; use contrib.foreach, while_loop or cond, or a symbol");
           },
       .unsampled = kUnsampled});
}

// In a quantized graph sums of a convolution and all inputs of others come as bytes.
OpDef joined_layer(const JoinedKind& kind, const char* doc) {
  const bool is_convolution = kind.op == kJoinedConvolution.op;
  using A = JoinedLayerAttrs;
  Quantization q{.becomes = std::string(kind.op),
                 .attributes = {{"quantized", is_convolution ? "true" : "True"}},
                 .where = [](const A& a) { return !a.quantized; },
                 .is_worthwhile = true,
                 .makes_sums = true};
  if (is_convolution)
    q.keeps_input = [](const A& a, size_t i, size_t count) { return i > 0 && !(a.with_sum && i + 1 == count); };
  if (kind.op == kJoinedDense.op) q.own_rows_attribute = "channel_wise_quantize";
  std::vector<std::string> names = {"output", "min_output", "max_output"};
  if (is_convolution) names = {"output", "output_min", "output_max"};
  return general<A>({.name = std::string(kind.op),
                     .doc = doc,
                     .variadic = true,
                     .output_count = [](const A& a) -> size_t { return a.gives_range() ? 3 : 1; },
                     .array_names = {.outputs = std::move(names)},
                     .control_flow = ControlFlow::kLayer,
                     .infer =
                         [](Infer& i, const A&) {
                           i.require(false, ErrorKind::kRuntime,
                                     "the body is a graph; use Symbol.get_backend_symbol, or a symbol file");
                         },
                     .quantization = quantization(std::move(q)),
                     .unsampled = kUnsampled});
}

}  // namespace

Operators control_flow_operators() {
  return {body_operator<ForeachAttrs>("_foreach", ControlFlow::kForeach,
                                      "Runs a graph for every entry of arrays along axis 0."),
          body_operator<WhileAttrs>("_while_loop", ControlFlow::kWhile, "Runs a graph while another one says so."),
          body_operator<CondAttrs>("_cond", ControlFlow::kCond, "Runs one of two graphs."),
          joined_layer(kJoinedConvolution, "Convolution with the normalisation, sum and activation that follow it."),
          joined_layer(kJoinedDense, "FullyConnected with the function that follows it."),
          joined_layer(kJoinedScores, "Scores of an attention of interleaved queries and keys."),
          joined_layer(kJoinedValues, "Values of an attention of interleaved values.")};
}

}  // namespace headrace
