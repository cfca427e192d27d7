// SymbolBlock: a network that is a graph, for example one that Block::export_to, Python's HybridBlock.export or MXNet
// wrote. It is always compiled: hybridize() changes nothing.
//
// Any number of threads may call one at a time, as long as none changes its parameters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headrace/gluon/block.hpp"
#include "headrace/symbol.hpp"

namespace headrace::gluon {

class SymbolBlock : public Block {
 public:
  // Runs `outputs` as a function of the variables `inputs`; all other variables are parameters, and those without an
  // entry in `parameters`, whose values are copied, want initialize(). ValueError: an input is no variable of the
  // graph, or an entry no parameter.
  SymbolBlock(const Symbol& outputs, const std::vector<Symbol>& inputs,
              const std::map<std::string, NDArray>& parameters = {});
  // The network of a symbol file; `input_names` are the variables that calls give, in this order, and all others are
  // parameters, named as in the file of their values. With `allow_missing` those that the file lacks want initialize();
  // with `ignore_extra` values that belong to no parameter are passed over. MXNetError: a file is missing or malformed.
  // ValueError: the file lacks a parameter or has others, or the graph has no such input.
  static SymbolBlock imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                             const std::string& param_file, bool allow_missing = false, bool ignore_extra = false);

  using Block::operator();
  // The outputs of a network for its inputs. ValueError: there are not as many as input_names.
  std::vector<NDArray> operator()(const std::vector<NDArray>& inputs) const;
  // Of a network with one input and one output; ValueError: it has others.
  NDArray forward(const NDArray& x) override;

 private:
  SymbolBlock(const Symbol& outputs, const std::vector<std::string>& input_names,
              const std::map<std::string, NDArray>& values);
  const Graph* own_graph() const override { return graph_.get(); }
  void add_missing(const Symbol& symbol, const std::vector<std::string>& names);
  // Shapes of parameters that follow from those of the inputs.
  void complete_shapes(const std::vector<NDArray>& inputs) const;

  std::shared_ptr<const Graph> graph_;
  std::vector<std::string> input_names_;
  bool has_missing_ = false;  // values of parameters were not in the file
};

}  // namespace headrace::gluon
