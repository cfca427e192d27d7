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

struct LoadOptions {
  bool allow_missing = false;  // parameters that the file lacks stay as they are
  bool ignore_extra = false;   // what belongs to no parameter is passed over
  bool cast_dtype = false;     // values of another dtype are cast to that of the parameter
};

class Block {
 public:
  Block() = default;
  Block(Block&&) = default;
  Block& operator=(Block&&) = default;
  virtual ~Block() = default;

  virtual NDArray forward(const NDArray& x) = 0;
  // TypeError: x is none.
  NDArray operator()(const NDArray& x);

  // From now on forward is traced when data of a new shape or dtype come, or the first of them in training, and calls
  // run the compiled graph; false goes back. Then forward must not read values of arrays, nor write into them
  // (MXNetError); what it asks besides, about x and autograd::is_training(), is answered once for each of these. A
  // PauseScope keeps no gradient out of a traced forward; nd::BlockGrad does.
  void hybridize(bool active = true);

  // Gives first values to all parameters that have none, or, with `force_reinit`, to all, in the order in which they
  // and the blocks were added; those of unknown shape get them when data first goes through. On several devices each
  // has a replica of every parameter, and data are computed with those of the device that they are on. All parameters
  // stay as they were when it raises.
  void initialize(const init::Initializer& initializer = init::Uniform{}, const std::vector<Device>& devices = {},
                  bool force_reinit = false);
  // Moves all parameters to other devices, or none when it raises.
  void reset_ctx(const std::vector<Device>& devices);
  ParameterDict collect_params() const;
  // Of all parameters that have gradients; with grad_req "add" a sum begins anew.
  void zero_grad();

  // MXNet's parameter format, with the names of collect_params, which are those of Python's save_parameters.
  void save_parameters(const std::string& path) const;
  // Also the files of export_to, whose names begin with "arg:" and "aux:". Nothing is changed when it raises.
  // ValueError: the file lacks a parameter or has others, or one of another shape or dtype, unless the options allow
  // it. OSError: it cannot be read. MXNetError: it is broken.
  void load_parameters(const std::string& path, const LoadOptions& options = {});

  // Writes PATH-symbol.json and PATH-0000.params (`epoch` with four digits), which SymbolBlock, Python's
  // SymbolBlock.imports and MXNet read; the input is called "data". RuntimeError: not hybridized, or not called since.
  // MXNetError: a file cannot be written.
  void export_to(const std::string& path, int epoch = 0) const;

 protected:
  // RuntimeError: this block was moved from.
  void check_present() const;
  // ValueError: there is a parameter of that name.
  std::shared_ptr<Parameter> add_parameter(std::string name, Shape shape, init::Initializer own_init = nullptr,
                                           std::string grad_req = "write");
  // ValueError: there is a child of that name.
  template <class B>
  B& add_child(std::string name, B child) {
    auto owned = std::make_unique<B>(std::move(child));
    B& added = *owned;
    adopt(std::move(name), std::move(owned));
    return added;
  }
  const std::vector<std::pair<std::string, std::unique_ptr<Block>>>& children() const noexcept { return children_; }

 private:
  friend class Traces;

  // Of a block that is a graph from the beginning, which nothing needs to trace.
  virtual const Graph* own_graph() const { return nullptr; }
  void adopt(std::string name, std::unique_ptr<Block> child);
  // By name, in the order in which parameters and blocks were added.
  std::vector<std::pair<std::string, std::shared_ptr<Parameter>>> ordered_params(const std::string& prefix = {}) const;
  // How many parameters and blocks there are in the network; parts are added and never go.
  size_t part_count() const noexcept;

  // Whether a block was moved from, which then has nothing.
  struct Presence {
    bool is_gone = false;
    Presence() = default;
    Presence(Presence&& from) noexcept : is_gone(std::exchange(from.is_gone, true)) {}
    Presence& operator=(Presence&& from) noexcept {
      if (this != &from) is_gone = std::exchange(from.is_gone, true);
      return *this;
    }
  };

  Presence presence_;
  std::vector<std::shared_ptr<Parameter>> parameters_;
  std::vector<std::pair<std::string, std::unique_ptr<Block>>> children_;
  std::shared_ptr<Traces> traces_;  // null unless hybridized
};

}  // namespace headrace::gluon
