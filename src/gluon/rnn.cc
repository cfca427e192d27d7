#include "headrace/gluon/rnn.hpp"

#include <fmt/format.h>

#include "base/check.h"
#include "headrace/invoke.hpp"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/trace.h"

namespace headrace::gluon::rnn {
namespace {

int64_t gates_of(const std::string& mode) { return mode == "lstm" ? 4 : mode == "gru" ? 3 : 1; }

NDArray with_steps_first(const NDArray& x, const std::string& layout) {
  return layout == "TNC" ? x : call("SwapAxis", {x}, {{"dim1", int64_t{0}}, {"dim2", int64_t{1}}});
}

}  // namespace

RecurrentLayer::RecurrentLayer(std::string mode, int64_t hidden_size, LayerOptions options)
    : mode_(std::move(mode)), hidden_size_(hidden_size), options_(std::move(options)) {
  const LayerOptions& o = options_;
  check(hidden_size > 0 && o.num_layers > 0, ErrorKind::kValue,
        "{}: hidden_size and num_layers must be positive, got {} and {}", mode_, hidden_size, o.num_layers);
  check(o.input_size >= 0 && o.projection_size >= 0, ErrorKind::kValue,
        "{}: input_size and projection_size must not be negative, got {} and {}", mode_, o.input_size,
        o.projection_size);
  check(o.projection_size == 0 || mode_ == "lstm", ErrorKind::kValue, "{}: only LSTM has a projection_size", mode_);
  check(o.layout == "TNC" || o.layout == "NTC", ErrorKind::kValue, "{}: layout must be TNC or NTC, got {}", mode_,
        o.layout);
  for (int64_t layer = 0; layer < o.num_layers; ++layer)
    for (const char* const side : {"l_cell.", "r_cell."}) {
      if (!o.bidirectional && side[0] == 'r') continue;
      add_cell(fmt::format("_unfused.{}.{}", layer, o.bidirectional ? side : ""),
               layer == 0 ? o.input_size : output_size() * directions());
    }
}

void RecurrentLayer::add_cell(const std::string& prefix, int64_t columns) {
  const int64_t rows = gates_of(mode_) * hidden_size_;
  const init::Initializer &weight = options_.weight_initializer, &bias = options_.bias_initializer;
  weights_.push_back(add_parameter(prefix + "i2h_weight", {rows, columns}, weight));
  weights_.push_back(add_parameter(prefix + "h2h_weight", {rows, output_size()}, weight));
  biases_.push_back(add_parameter(prefix + "i2h_bias", {rows}, bias));
  biases_.push_back(add_parameter(prefix + "h2h_bias", {rows}, bias));
  if (options_.projection_size > 0)
    weights_.push_back(add_parameter(prefix + "h2r_weight", {output_size(), hidden_size_}, weight));
}

int64_t RecurrentLayer::batch_size(const NDArray& x) const {
  check(x.ndim() == 3, ErrorKind::kValue, "{}: expected data with the axes {}, got shape {}", mode_, options_.layout,
        to_string(x.shape()));
  return x.shape()[options_.layout == "TNC" ? 1 : 0];
}

std::vector<Shape> RecurrentLayer::state_shapes(int64_t batch_size) const {
  const int64_t cells = options_.num_layers * directions();
  std::vector<Shape> shapes{{cells, batch_size, output_size()}};
  if (mode_ == "lstm") shapes.push_back({cells, batch_size, hidden_size_});
  return shapes;
}

States RecurrentLayer::begin_state(int64_t batch_size, Device device) const {
  States states;
  for (const Shape& shape : state_shapes(batch_size))
    states.push_back(call("_zeros", {}, {{"shape", shape}, {"ctx", to_string(device)}}));
  return states;
}

void RecurrentLayer::complete_shapes(int64_t input_size) {
  const size_t in_cell = options_.projection_size > 0 ? 3 : 2;
  for (size_t cell = 0; cell < static_cast<size_t>(directions()); ++cell) {
    Parameter& first = *weights_[cell * in_cell];
    if (first.shape()[1] == 0) first.complete_shape({first.shape()[0], input_size});
  }
}

NDArray RecurrentLayer::flat_parameters(Device device) const {
  std::vector<NDArray> parts;
  for (const auto* const group : {&weights_, &biases_})
    for (const auto& parameter : *group)
      parts.push_back(call("Reshape", {parameter->data(device)}, {{"shape", Shape{-1}}}));
  const OpDef& op = find_op("_rnn_param_concat");
  return invoke_all(op, attrs_of(op, {{"num_args", static_cast<int64_t>(parts.size())}, {"dim", int64_t{0}}}),
                    parts)[0];
}

std::vector<NDArray> RecurrentLayer::compute(const NDArray& x, const States& states, bool state_outputs) {
  complete_shapes(x.shape()[2]);
  std::vector<NDArray> inputs{with_steps_first(x, options_.layout), flat_parameters(x.device())};
  inputs.insert(inputs.end(), states.begin(), states.end());
  const OpDef& op = find_op("RNN");
  std::vector<Option> settings{{"state_size", hidden_size_},
                               {"num_layers", options_.num_layers},
                               {"bidirectional", options_.bidirectional},
                               {"mode", mode_},
                               {"p", options_.dropout},
                               {"state_outputs", state_outputs}};
  if (options_.projection_size > 0) settings.emplace_back("projection_size", options_.projection_size);
  std::vector<NDArray> results = invoke_all(op, attrs_from(op, settings, inputs.size()), inputs);
  results[0] = with_steps_first(results[0], options_.layout);
  return results;
}

States RecurrentLayer::zeros_beside(const NDArray& x) const {
  const auto first = [](const NDArray& array, int64_t axis) {
    return call("slice_axis", {array}, {{"axis", axis}, {"begin", int64_t{0}}, {"end", int64_t{1}}});
  };
  const NDArray batch = call("zeros_like", {first(first(with_steps_first(x, options_.layout), 0), 2)});
  States states;
  for (const Shape& shape : state_shapes(batch_size(x)))
    states.push_back(call("broadcast_axis", {batch}, {{"axis", Shape{0, 2}}, {"size", Shape{shape[0], shape[2]}}}));
  return states;
}

NDArray RecurrentLayer::forward(const NDArray& x) {
  check_present();
  const int64_t count = batch_size(x);
  return compute(x, is_abstract(x) ? zeros_beside(x) : begin_state(count, x.device()), false)[0];
}

std::pair<NDArray, States> RecurrentLayer::operator()(const NDArray& x, const States& states) {
  check_present();
  check(static_cast<bool>(x), ErrorKind::kType, "{}: the data are none; give an array", mode_);
  const std::vector<Shape> expected = state_shapes(batch_size(x));
  check(states.size() == expected.size(), ErrorKind::kValue, "{}: expected {} states, got {}", mode_, expected.size(),
        states.size());
  for (size_t k = 0; k < states.size(); ++k) {
    check(static_cast<bool>(states[k]), ErrorKind::kType, "{}: state {} is none; give an array", mode_, k);
    check(states[k].shape() == expected[k], ErrorKind::kValue,
          "{}: state {} must have shape {}, got {}; begin_state makes states that fit", mode_, k,
          to_string(expected[k]), to_string(states[k].shape()));
  }
  std::vector<NDArray> results = compute(x, states, true);
  return {results[0], States(results.begin() + 1, results.end())};
}

RNN::RNN(int64_t hidden_size, LayerOptions options, const std::string& activation)
    : RecurrentLayer("rnn_" + activation, hidden_size, std::move(options)) {
  check(activation == "relu" || activation == "tanh", ErrorKind::kValue,
        "RNN: the activation must be relu or tanh, got {}", activation);
}

}  // namespace headrace::gluon::rnn
