// Random symbols over a set of operators: pointwise ones, views, reductions, products, several outputs, running
// statistics.
#pragma once

#include <random>

#include "graph/infer.h"
#include "graphs.h"

namespace headrace {

class RandomGraph {
 public:
  static constexpr int64_t kSide = 4;

  RandomGraph(uint64_t seed, DType dtype) : random_(seed), dtype_(dtype) {
    for (int i = 0; i < 3; ++i) add_input("x" + std::to_string(i), {kSide, kSide});
    add_input("row", {kSide});
    const size_t steps = 4 + below(20);
    for (size_t i = 0; i < steps; ++i) step();
    std::vector<Symbol> heads;
    for (size_t i = 1 + below(3); i > 0; --i)
      heads.push_back(pool_[pool_.size() - 1 - below(std::min<size_t>(6, pool_.size()))]);
    symbol = Symbol::group(heads);
  }

  // Values for list_inputs(), the same for the same seed.
  std::vector<NDArray> inputs() const {
    std::vector<NDArray> arrays;
    uint64_t seed = 1;
    for (const std::string& name : symbol.list_inputs()) {
      const bool statistic = name.ends_with("moving_var");
      arrays.push_back(statistic ? full({kSide}, 1, dtype_, Device{}) : varied(known_.shapes.at(name), dtype_, ++seed));
    }
    return arrays;
  }

  Symbol symbol;

 private:
  size_t below(size_t n) { return random_() % n; }
  const Symbol& any() { return pool_[below(pool_.size())]; }

  void add_input(const std::string& name, const Shape& shape) {
    known_.shapes[name] = shape;
    known_.dtypes[name] = dtype_;
    pool_.push_back(Symbol::variable(name));
  }

  // Keeps what the operator accepts for these types.
  void keep(const std::string& op, const std::vector<Symbol>& inputs, const Symbol::Texts& attrs = {}) {
    try {
      const Symbol made = Symbol::apply(op, "", inputs, attrs);
      const InferredTypes types = infer_types(made, known_);
      for (size_t i = 0; i < made.size(); ++i)
        if (types.outputs[i].is_known() && types.outputs[i].shape->size() <= 3) pool_.push_back(made[i]);
    } catch (const Error&) {
    }
  }

  void step() {
    static const std::vector<std::pair<std::string, Symbol::Texts>> unary = {
        {"tanh", {}},
        {"relu", {}},
        {"square", {}},
        {"abs", {}},
        {"_copy", {}},
        {"BlockGrad", {}},
        {"_mul_scalar", {{"scalar", "0.5"}}},
        {"_plus_scalar", {{"scalar", "0.25"}}},
        {"_rminus_scalar", {{"scalar", "1"}}},
        {"clip", {{"a_min", "-1"}, {"a_max", "1"}}},
        {"transpose", {}},
        {"Reshape", {{"shape", "(-1,)"}}},
        {"Reshape", {{"shape", "(4, -1)"}}},
        {"expand_dims", {{"axis", "0"}}},
        {"slice_axis", {{"axis", "0"}, {"begin", "1"}, {"end", "3"}}},
        {"SliceChannel", {{"num_outputs", "2"}, {"axis", "1"}}},
        {"sum", {{"axis", "1"}, {"keepdims", "True"}}},
        {"mean", {{"axis", "0"}}},
        {"max", {{"axis", "-1"}, {"keepdims", "True"}}},
        {"softmax", {{"axis", "-1"}}},
        {"zeros_like", {}},
        {"ones_like", {}},
        {"cumsum", {{"axis", "0"}}},
        {"reverse", {{"axis", "0"}}},
    };
    static const std::vector<std::string> binary = {"elemwise_add",      "elemwise_mul",  "elemwise_sub",
                                                    "broadcast_add",     "broadcast_mul", "broadcast_sub",
                                                    "broadcast_maximum", "dot",           "broadcast_greater"};
    const size_t kind = below(20);
    if (kind < 9) {
      const auto& [op, attrs] = unary[below(unary.size())];
      return keep(op, {any()}, attrs);
    }
    if (kind < 16) return keep(binary[below(binary.size())], {any(), any()});
    if (kind == 16) return keep("Concat", {any(), any()}, {{"dim", "0"}, {"num_args", "2"}});
    if (kind == 17) return keep("where", {any(), any(), any()});
    if (kind == 18) return keep("add_n", {any(), any(), any()}, {{"num_args", "3"}});
    normalise();
  }

  void normalise() {
    if (!is_floating(dtype_)) return;
    const std::string name = "bn" + std::to_string(pool_.size());
    std::vector<Symbol> inputs{any()};
    for (const char* part : {"_gamma", "_beta", "_moving_mean", "_moving_var"}) {
      known_.shapes[name + part] = {kSide};
      known_.dtypes[name + part] = dtype_;
      inputs.push_back(Symbol::variable(name + part));
    }
    keep("BatchNorm", inputs, {{"fix_gamma", "False"}});
    // Reads a running statistic; before or after it moves, as the order of the graph has it.
    if (below(2)) keep("broadcast_add", {any(), inputs[3]});
  }

  std::mt19937_64 random_;
  DType dtype_;
  KnownTypes known_;
  std::vector<Symbol> pool_;
};

}  // namespace headrace
