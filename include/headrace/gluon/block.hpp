// Block: a layer or a network; it owns its children and shares its parameters. Belongs to one thread at a time. A
// network of one's own derives from Block and adds its parts as children:
//
//   class Residual : public gluon::Block {
//    public:
//     NDArray forward(const NDArray& x) override { return x + dense_(x); }
//
//    private:
//     gluon::Block& dense_ = add_child("dense", gluon::nn::Dense(64));
//   };
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headrace/gluon/parameter.hpp"

namespace headrace::gluon {

class Graph;   // src/gluon/graph.h
class Traces;  // src/gluon/graph.h

class Block {
 public:
  Block() = default;
  Block(Block&&) = default;
  Block& operator=(Block&&) = default;
  virtual ~Block() = default;

  virtual NDArray forward(const NDArray& x) = 0;
  // TypeError: x is none.
  NDArray operator()(const NDArray& x);

  // From now on forward is traced when data of a new shape or dtype come, and calls run the compiled graph; false goes
  // back. Then forward must not read values of arrays, nor write into them (MXNetError); what it asks about x besides
  // is answered once for each shape and dtype.
  void hybridize(bool active = true);

  // Gives first values to all parameters that have none, or, with `force_reinit`, to all; those of unknown shape get
  // them when data first goes through. On several devices each has a replica of every parameter, and data are computed
  // with those of the device that they are on.
  void initialize(const init::Initializer& initializer = init::Uniform{}, const std::vector<Device>& devices = {},
                  bool force_reinit = false);
  // Moves all parameters to other devices.
  void reset_ctx(const std::vector<Device>& devices);
  ParameterDict collect_params() const;

  // MXNet's parameter format, with the names of collect_params, which are those of Python's save_parameters.
  void save_parameters(const std::string& path) const;
  // ValueError: the file is broken, or has not exactly these parameters. OSError: it cannot be read.
  void load_parameters(const std::string& path);

  // Writes PATH-symbol.json and PATH-0000.params (`epoch` with four digits), which SymbolBlock, Python's
  // SymbolBlock.imports and MXNet read; the input is called "data". RuntimeError: not hybridized, or not called since.
  // OSError: a file cannot be written.
  void export_to(const std::string& path, int epoch = 0) const;

 protected:
  std::shared_ptr<Parameter> add_parameter(std::string name, Shape shape, init::Initializer own_init = nullptr,
                                           std::string grad_req = "write");
  template <class B>
  B& add_child(std::string name, B child) {
    auto owned = std::make_unique<B>(std::move(child));
    B& added = *owned;
    children_.emplace_back(std::move(name), std::move(owned));
    return added;
  }
  const std::vector<std::pair<std::string, std::unique_ptr<Block>>>& children() const noexcept { return children_; }

 private:
  friend class Traces;

  // Of a block that is a graph from the beginning, which nothing needs to trace.
  virtual const Graph* own_graph() const { return nullptr; }
  void collect(const std::string& prefix, ParameterDict& found) const;
  // How many parameters and blocks there are in the network; parts are added and never go.
  size_t part_count() const noexcept;

  std::vector<std::shared_ptr<Parameter>> parameters_;
  std::vector<std::pair<std::string, std::unique_ptr<Block>>> children_;
  std::shared_ptr<Traces> traces_;  // null unless hybridized
};

}  // namespace headrace::gluon
