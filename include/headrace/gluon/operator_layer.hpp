// OperatorLayer: what most layers are: one operator on the data and the layer's parameters.
#pragma once

#include <string_view>
#include <vector>

#include "headrace/gluon/block.hpp"
#include "headrace/invoke.hpp"

namespace headrace::gluon {

class OperatorLayer : public Block {
 public:
  // Shapes of parameters that are not known yet follow from the first data, by the rule of the operator. ValueError:
  // they do not.
  NDArray forward(const NDArray& x) override;

 protected:
  // `activation`: of the result, a word of nn::Activation; empty: none. KeyError: no such operator. TypeError,
  // ValueError: options that it does not take.
  OperatorLayer(std::string_view operation, const std::vector<Option>& options, const std::string& activation = {});
  // The next input of the operator after the data; arguments as of add_parameter.
  void add_input(std::string name, Shape shape, init::Initializer own_init = nullptr, std::string grad_req = "write");

 private:
  struct Call;

  void complete_shapes(const Shape& data) const;

  std::shared_ptr<const Call> call_;
  std::vector<std::shared_ptr<Parameter>> inputs_;
};

}  // namespace headrace::gluon
