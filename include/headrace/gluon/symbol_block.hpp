// SymbolBlock: a network that is a graph, for example one that Block::export_to, Python's HybridBlock.export or MXNet
// wrote. It is always compiled: hybridize() changes nothing.
//
// Any number of threads may call one at a time, as long as none changes its parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/gluon/block.hpp"

namespace headrace::gluon {

class SymbolBlock : public Block {
 public:
  // The network of a symbol file; `input_names` are the variables that calls give, in this order, and all others are
  // parameters, named as in the file of their values. MXNetError: a file is missing or malformed. ValueError: the file
  // lacks a parameter or has others, or the graph has no such input.
  static SymbolBlock imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                             const std::string& param_file);

  using Block::operator();
  // The outputs of a network for its inputs. ValueError: there are not as many as input_names.
  std::vector<NDArray> operator()(const std::vector<NDArray>& inputs) const;
  // Of a network with one input and one output; ValueError: it has others.
  NDArray forward(const NDArray& x) override;

 private:
  SymbolBlock() = default;
  const Graph* own_graph() const override { return graph_.get(); }

  std::shared_ptr<const Graph> graph_;
};

}  // namespace headrace::gluon
