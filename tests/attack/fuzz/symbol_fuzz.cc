// Symbol files: src/graph/json_read.cc, and all that is done with what was read. A graph that can be written must be
// readable again, and be the same.
#include "graph/control_flow.h"
#include "tests/attack/fuzz/fuzz.h"
#include "tests/attack/fuzz/graphs.h"

namespace headrace::fuzz {
namespace {

Symbol input(const std::string& name, const char* shape) {
  return Symbol::variable(name, {{"__shape__", shape}, {"__dtype__", "0"}, {"lr_mult", "0.5"}});
}

// Convolution, normalisation with running means, several outputs, an operator on a list.
std::string network() {
  Symbol y = Symbol::apply("Convolution", "conv", {input("data", "(1, 3, 6, 6)")},
                           {{"kernel", "(3, 3)"}, {"num_filter", "4"}, {"pad", "(1, 1)"}});
  y = Symbol::apply("BatchNorm", "bn", {y}, {{"eps", "0.001"}})[0];
  y = Symbol::apply("Pooling", "pool", {y}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pool_type", "max"}});
  const Symbol parts = Symbol::apply("SliceChannel", "split", {y}, {{"num_outputs", "2"}, {"axis", "1"}});
  y = Symbol::apply("Concat", "concat", {parts[1], parts[0]}, {{"dim", "1"}});
  y = Symbol::apply("Reshape", "reshape", {y}, {{"shape", "(0, -1)"}});
  y = Symbol::apply("FullyConnected", "fc", {y}, {{"num_hidden", "5"}});
  return Symbol::apply("SoftmaxOutput", "softmax", {y}).to_json();
}

std::string assignment() {
  return Symbol::apply("_slice_assign", "assign", {input("a", "(4,)"), input("b", "(2,)")},
                       {{"begin", "(0,)"}, {"end", "(2,)"}})
      .to_json();
}

Symbol sum_of(const char* name, const Symbol& a, const Symbol& b) {
  return Symbol::apply("broadcast_add", name, {a, b});
}

// A running sum over the rows of an array.
std::string loop_over_rows() {
  const Symbol sum = sum_of("add", Symbol::variable("row"), Symbol::variable("state"));
  return control_flow_node("_foreach", "loop", {input("rows", "(3, 2)"), input("begin", "(2,)")},
                           {{"num_args", "3"},
                            {"num_outputs", "2"},
                            {"num_out_data", "1"},
                            {"in_data_locs", "(0,)"},
                            {"in_state_locs", "(1,)"},
                            {"remain_locs", "()"}},
                           {}, {Symbol::group({sum, sum})})
      .to_json();
}

// Doubles a number until it is large.
std::string loop_with_condition() {
  const Symbol small = Symbol::apply("_lesser_scalar", "small", {Symbol::variable("x")}, {{"scalar", "10"}});
  const Symbol next = sum_of("double", Symbol::variable("x"), Symbol::variable("x"));
  return control_flow_node("_while_loop", "loop", {input("begin", "(1,)")},
                           {{"num_args", "3"},
                            {"num_outputs", "2"},
                            {"num_out_data", "1"},
                            {"max_iterations", "5"},
                            {"cond_input_locs", "(0,)"},
                            {"func_input_locs", "(0,)"},
                            {"func_var_locs", "(0,)"}},
                           {}, {small, Symbol::group({next, next})})
      .to_json();
}

std::string branch() {
  const Symbol positive = Symbol::apply("_greater_scalar", "positive", {Symbol::variable("x")}, {{"scalar", "0"}});
  const Symbol yes = Symbol::apply("tanh", "yes", {Symbol::variable("x")});
  const Symbol no = Symbol::apply("negative", "no", {Symbol::variable("x")});
  return control_flow_node("_cond", "branch", {input("x", "(1,)")},
                           {{"num_args", "4"},
                            {"num_outputs", "1"},
                            {"cond_input_locs", "(0,)"},
                            {"then_input_locs", "(0,)"},
                            {"else_input_locs", "(0,)"}},
                           {}, {positive, yes, no})
      .to_json();
}

constexpr const char* kOldSpellings = R"JSON({"nodes": [
  {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
  {"op": "null", "name": "w", "inputs": [], "attr": {"__shape__": "(2, 3)"}},
  {"op": "FullyConnected", "param": {"num_hidden": "2"}, "name": "fc", "inputs": [[0, 0], [1, 0]],
   "attr": {"weight_lr_mult": "5"}},
  {"op": "argmax", "param": {"axis": "-1"}, "name": "best", "inputs": [[2, 0]]}],
  "arg_nodes": [0, 1], "heads": [[3, 0]], "attrs": {"mxnet_version": ["int", 904]}})JSON";

// A quantized layer as MXNet puts it together.
constexpr const char* kJoinedLayer = R"JSON({"nodes": [
  {"op": "null", "name": "x", "inputs": [], "attrs": {"__shape__": "(1, 2, 4, 4)", "__dtype__": "5"}},
  {"op": "null", "name": "w", "inputs": [], "attrs": {"__shape__": "(2, 2, 1, 1)"}},
  {"op": "null", "name": "low", "inputs": [], "attrs": {"__shape__": "(1,)"}},
  {"op": "null", "name": "high", "inputs": [], "attrs": {"__shape__": "(1,)"}},
  {"op": "_sg_mkldnn_conv", "name": "joined", "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]],
   "attrs": {"quantized": "true", "min_calib_range": "0.0", "max_calib_range": "2.5"},
   "subgraphs": [{"nodes": [
     {"op": "null", "name": "x0", "inputs": []},
     {"op": "null", "name": "w0", "inputs": []},
     {"op": "Convolution", "name": "conv", "inputs": [[0, 0, 0], [1, 0, 0]],
      "attrs": {"kernel": "(1, 1)", "num_filter": "2", "no_bias": "True"}},
     {"op": "Activation", "name": "act", "inputs": [[2, 0, 0]], "attrs": {"act_type": "relu"}}],
     "arg_nodes": [0, 1], "heads": [[3, 0, 0]]}]}],
  "arg_nodes": [0, 1, 2, 3], "heads": [[4, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}})JSON";

}  // namespace

std::vector<std::string> seeds() {
  const std::string zeros = Symbol::apply("_zeros", "zeros", {}, {{"shape", "(2, 3)"}, {"dtype", "float32"}}).to_json();
  return {network(),
          assignment(),
          loop_over_rows(),
          loop_with_condition(),
          branch(),
          kOldSpellings,
          kJoinedLayer,
          zeros,
          Symbol::variable("x").to_json(2)};
}

}  // namespace headrace::fuzz

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::accepts([&] {
    const Symbol symbol = Symbol::from_json(fuzz::text_of(data, size));
    symbol.list_arguments();
    symbol.list_auxiliary_states();
    symbol.list_outputs();
    symbol.attr_dict();
    symbol.children();
    std::string json;
    if (fuzz::accepts([&] { json = symbol.to_json(); }))
      fuzz::expect(Symbol::from_json(json).to_json() == json, "a graph changes when it is read");
    fuzz::accepts([&] { symbol.without_amp_casts(); });
    fuzz::infer_and_run(symbol, {});
  });
  return 0;
}
