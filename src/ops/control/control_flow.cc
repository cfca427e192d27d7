// Operators whose bodies are graphs; src/graph/control_flow.cc runs them.
#include "ops/control/control_flow.h"

#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {
namespace {

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
       .unsampled = "its body is a graph, which a sample does not hold"});
}

}  // namespace

Operators control_flow_operators() {
  return {body_operator<ForeachAttrs>("_foreach", ControlFlow::kForeach,
                                      "Runs a graph for every entry of arrays along axis 0."),
          body_operator<WhileAttrs>("_while_loop", ControlFlow::kWhile, "Runs a graph while another one says so."),
          body_operator<CondAttrs>("_cond", ControlFlow::kCond, "Runs one of two graphs.")};
}

}  // namespace headrace
