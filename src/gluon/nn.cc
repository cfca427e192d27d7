#include "headrace/gluon/nn.hpp"

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace::gluon::nn {
namespace {

const char* grad_req_if(bool is_trained) { return is_trained ? "write" : "null"; }

}  // namespace

NDArray Sequential::forward(const NDArray& x) {
  NDArray y = x;
  for (const auto& [name, child] : children()) y = (*child)(y);
  return y;
}

Dense::Dense(int64_t units, DenseOptions options)
    : OperatorLayer("FullyConnected",
                    {{"num_hidden", units}, {"no_bias", !options.use_bias}, {"flatten", options.flatten}},
                    options.activation) {
  check(units > 0, ErrorKind::kValue, "Dense: units must be positive, got {}", units);
  add_input("weight", {units, options.in_units}, std::move(options.weight_initializer));
  if (options.use_bias) add_input("bias", {units}, std::move(options.bias_initializer));
}

Embedding::Embedding(int64_t input_dim, int64_t output_dim, init::Initializer weight_initializer)
    : OperatorLayer("Embedding", {{"input_dim", input_dim}, {"output_dim", output_dim}}) {
  check(input_dim > 0 && output_dim > 0, ErrorKind::kValue,
        "Embedding: input_dim and output_dim must be positive, got {} and {}", input_dim, output_dim);
  add_input("weight", {input_dim, output_dim}, std::move(weight_initializer));
}

LeakyReLU::LeakyReLU(double alpha)
    : OperatorLayer("LeakyReLU", {{"act_type", std::string("leaky")}, {"slope", alpha}}) {
  check(alpha >= 0, ErrorKind::kValue, "Slope coefficient for LeakyReLU must be no less than 0, got {}.", alpha);
}

PReLU::PReLU(init::Initializer alpha_initializer, int64_t in_channels)
    : OperatorLayer("LeakyReLU", {{"act_type", std::string("prelu")}}) {
  check(in_channels > 0, ErrorKind::kValue, "PReLU: in_channels must be positive, got {}", in_channels);
  if (!alpha_initializer)
    alpha_initializer = [](const Shape& shape, Device device) { return full(shape, 0.25, DType::kFloat32, device); };
  add_input("alpha", {in_channels}, std::move(alpha_initializer));
}

ELU::ELU(double alpha) : OperatorLayer("LeakyReLU", {{"act_type", std::string("elu")}, {"slope", alpha}}) {}

SELU::SELU() : OperatorLayer("LeakyReLU", {{"act_type", std::string("selu")}}) {}

GELU::GELU() : OperatorLayer("LeakyReLU", {{"act_type", std::string("gelu")}}) {}

NDArray Swish::forward(const NDArray& x) { return x * call("sigmoid", {x * beta_}); }

BatchNorm::BatchNorm(const BatchNormOptions& options)
    : OperatorLayer("BatchNorm", {{"axis", options.axis},
                                  {"eps", options.epsilon},
                                  {"momentum", options.momentum},
                                  {"fix_gamma", !options.scale},
                                  {"use_global_stats", options.use_global_stats}}) {
  const Shape shape{options.in_channels};
  add_input("gamma", shape, init::One{}, grad_req_if(options.scale));
  add_input("beta", shape, init::Zero{}, grad_req_if(options.center));
  add_input("running_mean", shape, init::Zero{}, "null");
  add_input("running_var", shape, init::One{}, "null");
}

LayerNorm::LayerNorm(int64_t axis, double epsilon) : OperatorLayer("LayerNorm", {{"axis", axis}, {"eps", epsilon}}) {
  add_input("gamma", {0}, init::One{});
  add_input("beta", {0}, init::Zero{});
}

GroupNorm::GroupNorm(int64_t num_groups, double epsilon)
    : OperatorLayer("GroupNorm", {{"num_groups", num_groups}, {"eps", epsilon}}) {
  check(num_groups > 0, ErrorKind::kValue, "GroupNorm: num_groups must be positive, got {}", num_groups);
  add_input("gamma", {num_groups}, init::One{});
  add_input("beta", {num_groups}, init::Zero{});
}

InstanceNorm::InstanceNorm(double epsilon, bool center, bool scale)
    : OperatorLayer("InstanceNorm", {{"eps", epsilon}}) {
  add_input("gamma", {0}, init::One{}, grad_req_if(scale));
  add_input("beta", {0}, init::Zero{}, grad_req_if(center));
}

}  // namespace headrace::gluon::nn
