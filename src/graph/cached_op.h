// CachedOp: a symbol as a function of arrays. The first call with new types compiles a CompiledGraph; each call is one
// task of the engine, and so is each backward. It runs on the device of its inputs, where the results are. Any thread
// may call it; calls with known types take a shared lock.
#pragma once

#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "graph/compiled_graph.h"
#include "headrace/symbol.hpp"
#include "op/gradient.h"

namespace headrace {

class CachedOp {
 public:
  struct Options {
    bool compile = true;  // false: operators run one by one, as if the block were not hybridized
    // What is kept of calls with other types, the newest first: about a kilobyte for each value of their graphs.
    size_t most_values = size_t{1} << 20;
  };
  explicit CachedOp(Symbol symbol) : CachedOp(std::move(symbol), Options()) {}
  CachedOp(Symbol symbol, Options options);
  ~CachedOp();

  // The outputs for `inputs`, given in the order of the symbol's list_inputs(). While the thread records, the call is
  // one node of the tape; its gradient is one task, or, where that is to be differentiated again, recorded operator by
  // operator. Raises what is wrong with the types, naming the operator.
  std::vector<NDArray> operator()(std::span<const NDArray> inputs);

  // Of a call that is recorded in the thread's mode: for each output whether the gradient of an input depends on the
  // gradient with respect to it; below a loss it does not. A graph that asks for values gives false for all.
  std::vector<bool> reads_head_gradients(std::span<const NDArray> inputs);

  const Symbol& symbol() const noexcept { return symbol_; }
  // What a call has computed that is this node of the tape, of the node's inputs in their order; null: it is no call.
  static const Symbol* symbol_of_call(const Node& node) noexcept;
  // Of how many kinds of calls is known what runs.
  size_t kinds_known();
  // What runs for these inputs in the thread's mode: steps, memory, estimated time.
  std::string explain(std::span<const NDArray> inputs);

 private:
  struct Compiled;
  struct Backward;

  std::shared_ptr<const Compiled> compiled_for(std::span<const NDArray> inputs);
  void keep(std::vector<int64_t> signature, std::shared_ptr<const Compiled> compiled);
  std::shared_ptr<const Compiled> compile(std::span<const NDArray> inputs, bool training,
                                          const std::vector<bool>& wanted) const;
  std::vector<NDArray> run_compiled(const std::shared_ptr<const Compiled>& compiled, std::span<const NDArray> inputs);
  // MXNetError: some are in the memory of one device, some in that of another.
  void check_places(std::span<const NDArray> inputs) const;
  std::vector<NDArray> run_eagerly(std::span<const NDArray> inputs) const;
  static void record_gradients(const Compiled& compiled, std::span<const ViewPtr> given, Gradient& g);

  Symbol symbol_;
  Options options_;
  std::vector<Node*> variables_;
  std::shared_mutex mutex_;
  std::vector<std::pair<std::vector<int64_t>, std::shared_ptr<const Compiled>>> known_;  // newest first
  size_t values_known_ = 0;                                                              // of their graphs
};

}  // namespace headrace
