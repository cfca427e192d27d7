// Networks as compiled graphs: what hybridized blocks and SymbolBlock run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/cached_op.h"
#include "headrace/gluon/block.hpp"

namespace headrace::gluon {

// A symbol, and where each of its inputs comes from. Immutable but for its parameters; any thread may run it.
class Graph {
 public:
  // `data_names`: the variables that calls give; `parameters` have the others. ValueError: a name is among both.
  Graph(Symbol symbol, const std::vector<std::string>& data_names, const ParameterDict& parameters);

  // RuntimeError: a parameter has no values.
  std::vector<NDArray> run(std::span<const NDArray> data) const;
  size_t input_count() const noexcept { return data_count_; }
  size_t output_count() const noexcept { return op_.symbol().size(); }
  const Symbol& symbol() const noexcept { return op_.symbol(); }
  void write(const std::string& path, int epoch) const;

 private:
  struct Source {
    size_t argument;  // when there is no parameter
    std::shared_ptr<Parameter> parameter;
  };

  mutable CachedOp op_;  // calls are safe on any thread
  size_t data_count_;
  std::vector<Source> sources_;  // of each input of the operator
};

// The graphs of a hybridized block, one for each kind of data that it met. Belongs to the block's thread.
class Traces {
 public:
  // Traces the block unless that was done for such data in this mode of the thread; one graph does for both modes if
  // it is the same. It completes shapes of parameters that follow from the data.
  std::shared_ptr<const Graph> graph_for(Block& block, const NDArray& x);
  // The last that was traced; null: none.
  const Graph* newest() const noexcept { return traced_.empty() ? nullptr : traced_.front().graph.get(); }

 private:
  struct Traced {
    Shape shape;
    DType dtype;
    bool training;
    std::shared_ptr<const Graph> graph;
  };

  size_t part_count_ = 0;
  std::vector<Traced> traced_;  // newest first
};

}  // namespace headrace::gluon
