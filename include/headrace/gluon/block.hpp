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

class Block {
 public:
  Block() = default;
  Block(Block&&) = default;
  Block& operator=(Block&&) = default;
  virtual ~Block() = default;

  virtual NDArray forward(const NDArray& x) = 0;
  // TypeError: x is none.
  NDArray operator()(const NDArray& x);

  // Gives all parameters first values; those of unknown shape get them when data first goes through.
  void initialize(const init::Initializer& initializer = init::Uniform{}, Device device = {});
  ParameterDict collect_params() const;

  // MXNet's parameter format, with the names of collect_params, which are those of Python's save_parameters.
  void save_parameters(const std::string& path) const;
  // ValueError: the file is broken, or has not exactly these parameters. OSError: it cannot be read.
  void load_parameters(const std::string& path);

 protected:
  std::shared_ptr<Parameter> add_parameter(std::string name, Shape shape, init::Initializer own_init = nullptr);
  template <class B>
  B& add_child(std::string name, B child) {
    auto owned = std::make_unique<B>(std::move(child));
    B& added = *owned;
    children_.emplace_back(std::move(name), std::move(owned));
    return added;
  }
  const std::vector<std::pair<std::string, std::unique_ptr<Block>>>& children() const noexcept { return children_; }

 private:
  void collect(const std::string& prefix, ParameterDict& found) const;

  std::vector<std::shared_ptr<Parameter>> parameters_;
  std::vector<std::pair<std::string, std::unique_ptr<Block>>> children_;
};

}  // namespace headrace::gluon
