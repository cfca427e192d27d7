#include "ops/rnn/rnn_library.h"

#include <algorithm>

#include "base/check.h"
#include "op/composed_gradient.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/node.h"
#include "op/thread_state.h"
#include "op/trace.h"
#include "ops/families.h"

namespace headrace {

constinit const DeviceQuestion<std::optional<int64_t>(Device, const RnnProblem&)> bytes_kept_by_rnn("RNN");

namespace {

constexpr size_t kOutputs = 0, kStates = 1, kCells = 2, kKept = 3;

// Where a call will run.
Device device_of_call(std::span<const NDArray> in) {
  return std::ranges::any_of(in, is_abstract) ? thread_state().device : in[0].device();
}

// Whether gradients may be asked for: while a graph is traced, that is not known yet.
bool may_be_differentiated(std::span<const NDArray> in) {
  if (std::ranges::any_of(in, is_abstract)) return thread_state().training;
  return thread_state().recording && std::ranges::any_of(in, place_on_tape);
}

// What libraries do as the composition does. They have other rules for nan where cells are clipped, and lengths have to
// be known when work is issued; what is empty they refuse.
bool is_for_library(std::span<const NDArray> in, const RnnAttrs& a) {
  const DType dtype = in[0].dtype();
  const Shape& data = in[0].shape();
  return !a.use_sequence_length && !a.lstm_state_clip_min &&
         (!a.projection_size || *a.projection_size < a.state_size) &&
         (dtype == DType::kFloat32 || dtype == DType::kFloat16) && element_count(data) > 0 &&
         std::ranges::all_of(in, [&](const NDArray& x) { return x.dtype() == dtype && x.size() <= INT32_MAX; });
}

void check_arrays(const Infer& i, const RnnLibraryAttrs& a, size_t data, size_t parameters, size_t state, size_t cell) {
  const RnnAttrs layers = a.layers();
  std::vector<NDArray> in{i.input(data), i.input(parameters), i.input(state)};
  if (is_lstm(layers)) in.push_back(i.input(cell));
  check_rnn_call(in, layers);
  for (size_t k = 0; k < i.input_count(); ++k)
    i.require(i.dtype(k) == i.dtype(data) || i.dtype(k) == DType::kUint8, ErrorKind::kType,
              "array {} must hold {} as the data do, got {}", k, dtype_name(i.dtype(data)), dtype_name(i.dtype(k)));
  expect_floats(i, data);
  i.require(a.kept_bytes >= 0, ErrorKind::kValue, "kept_bytes must not be negative, got {}", a.kept_bytes);
}

double flops_of(const RnnSizes& s, int64_t rows) {
  double weights = 0;
  for (int64_t layer = 0; layer < s.layers; ++layer)
    weights += static_cast<double>(s.directions * s.rows() * (s.columns(layer) + s.output));
  return 2 * weights * static_cast<double>(rows);
}

void infer_forward(Infer& i, const RnnLibraryAttrs& a) {
  const RnnAttrs layers = a.layers();
  const size_t wanted = base_inputs(layers);
  i.require(i.input_count() == wanted, ErrorKind::kType, "mode '{}' takes {} arrays, got {}", a.mode, wanted,
            i.input_count());
  check_arrays(i, a, 0, 1, 2, 3);
  const Shape& data = i.shape(0);
  const RnnSizes s(layers, data[2]);
  i.output({data[0], data[1], s.directions * s.output}, i.dtype(0));
  i.output(s.states(data[1], s.output), i.dtype(0));
  i.output(is_lstm(layers) ? s.states(data[1], s.state) : Shape{0}, i.dtype(0));
  i.output({a.kept_bytes}, DType::kUint8);
  i.flops(flops_of(s, data[0] * data[1]));
}

void infer_backward(Infer& i, const RnnLibraryAttrs& a) {
  const RnnAttrs layers = a.layers();
  const size_t wanted = is_lstm(layers) ? 9 : 7;
  i.require(i.input_count() == wanted, ErrorKind::kType, "mode '{}' takes {} arrays, got {}", a.mode, wanted,
            i.input_count());
  check_arrays(i, a, 2, 3, 4, 7);
  const Shape& data = i.shape(2);
  const RnnSizes s(layers, data[2]);
  const Shape outputs{data[0], data[1], s.directions * s.output};
  expect_shape(i, 0, outputs);
  expect_shape(i, 1, i.shape(4));
  expect_shape(i, 5, outputs);
  expect_type(i, 6, {a.kept_bytes}, DType::kUint8);
  if (is_lstm(layers)) expect_shape(i, 8, i.shape(7));
  for (size_t k = 2; k < 5; ++k) i.output(i.shape(k), i.dtype(2));
  if (is_lstm(layers)) i.output(i.shape(7), i.dtype(2));
  i.flops(2 * flops_of(s, data[0] * data[1]));
}

[[noreturn]] void fail_without_library(const KernelContext& context) {
  fail(ErrorKind::kRuntime,
       "{}: this device has no library of recurrent layers; the graph was made for another device. Trace it, or record "
       "it, for the device that it runs on",
       context.name());
}

void gradient(Gradient& g, const RnnLibraryAttrs& a) {
  static const OpDef &forward = find_op("_rnn_by_library"), &backward = find_op("_backward_rnn_by_library");
  const RnnAttrs layers = a.layers();
  if (thread_state().recording)
    return set_composed_gradient(g, [&](std::span<const NDArray> in) {
      return run_layers(in, layers, unpacked(in[1], RnnSizes(layers, in[0].shape()[2])), nullptr);
    });
  const bool has_cells = g.input_count() == 4;
  const NDArray& data = g.input(0);
  RnnLibraryAttrs attrs = a;
  NDArray kept = g.output(kKept);
  if (a.kept_bytes == 0) {  // nobody seemed to want a gradient
    const Shape& shape = data.shape();
    const Device device = is_abstract(data) ? thread_state().device : data.device();
    attrs.kept_bytes = bytes_kept_by_rnn(device, {layers, data.dtype(), shape[0], shape[1], shape[2]}).value_or(0);
    std::vector<NDArray> inputs;
    for (size_t k = 0; k < g.input_count(); ++k) inputs.push_back(g.input(k));
    kept = invoke_all(forward, make_attrs(attrs), inputs)[kKept];
  }
  const auto head = [&](size_t k) {
    return g.has_head(k) ? g.head(k) : full(g.output(k).shape(), 0, data.dtype(), data.device());
  };
  std::vector<NDArray> inputs{head(kOutputs), head(kStates),      g.input(0), g.input(1),
                              g.input(2),     g.output(kOutputs), kept};
  if (has_cells) inputs.insert(inputs.end(), {g.input(3), head(kCells)});
  g.set(0, backward, make_attrs(attrs), inputs);
}

OpDef forward_layers() {
  return general<RnnLibraryAttrs>(
      {.name = "_rnn_by_library",
       .doc = "RNN as the library of a device computes it: outputs, states, cells, and what the gradient needs.",
       .inputs = {"data", "parameters", "state", "state_cell"},
       .optional_inputs = 1,
       .outputs = 4,
       .input_count = [](const RnnLibraryAttrs& a) { return base_inputs(a.layers()); },
       .infer = infer_forward,
       .kernel = [](KernelContext& c, const RnnLibraryAttrs&) { fail_without_library(c); },
       .spelling =
           [](const RnnLibraryAttrs& a, size_t) {
             Spelling made{.op = "RNN",
                           .attrs = {{"state_size", a.state_size},
                                     {"num_layers", a.num_layers},
                                     {"bidirectional", a.bidirectional},
                                     {"mode", a.mode},
                                     {"state_outputs", true}}};
             if (a.projection_size) made.attrs.emplace_back("projection_size", *a.projection_size);
             return made;
           },
       .gradient = gradient,
       .saves_outputs = 1u << kOutputs | 1u << kKept,
       .unsampled = "tested as RNN on GPUs"});
}

OpDef backward_layers() {
  return general<RnnLibraryAttrs>(
      {.name = "_backward_rnn_by_library",
       .doc = "The gradients of _rnn_by_library to its inputs.",
       .inputs = {"outputs_gradient", "states_gradient", "data", "parameters", "state", "outputs", "kept", "state_cell",
                  "cells_gradient"},
       .optional_inputs = 2,
       .output_count = [](const RnnLibraryAttrs& a) { return base_inputs(a.layers()); },
       .input_count = [](const RnnLibraryAttrs& a) -> size_t { return a.mode == "lstm" ? 9 : 7; },
       .infer = infer_backward,
       .kernel = [](KernelContext& c, const RnnLibraryAttrs&) { fail_without_library(c); },
       .unsampled = "tested as the gradient of RNN on GPUs"});
}

std::optional<int64_t> bytes_kept_for(std::span<const NDArray> in, const RnnAttrs& a, int64_t columns) {
  const Shape& data = in[0].shape();
  return bytes_kept_by_rnn(device_of_call(in), {a, in[0].dtype(), data[0], data[1], columns});
}

std::vector<NDArray> layers_at_once(std::span<const NDArray> in, const RnnAttrs& a, int64_t kept) {
  static const OpDef& op = find_op("_rnn_by_library");
  const RnnLibraryAttrs attrs{.mode = a.mode,
                              .state_size = a.state_size,
                              .num_layers = a.num_layers,
                              .bidirectional = a.bidirectional,
                              .projection_size = a.projection_size,
                              .kept_bytes = may_be_differentiated(in) ? kept : 0};
  std::vector<NDArray> results = invoke_all(op, make_attrs(attrs), in);
  results.resize(!a.state_outputs ? 1 : is_lstm(a) ? 3 : 2);
  return results;
}

// The vector of parameters of each layer.
std::vector<NDArray> parameters_of_layers(const NDArray& parameters, const RnnSizes& s) {
  Shape begins;
  int64_t at = 0;
  const auto add = [&](int64_t count) {
    begins.push_back(at);
    at += count;
  };
  for (int64_t layer = 0; layer < s.layers; ++layer)
    add(s.directions * (s.rows() * (s.columns(layer) + s.output) + (s.projects ? s.output * s.state : 0)));
  for (int64_t layer = 0; layer < s.layers; ++layer) add(s.directions * 2 * s.rows());
  static const OpDef& split = find_op("_split_v2");
  const std::vector<NDArray> parts = invoke_all(split, attrs_of(split, {{"indices", begins}}), {&parameters, 1});
  std::vector<NDArray> made;
  for (size_t layer = 0; layer < parts.size() / 2; ++layer)
    made.push_back(call("Concat", {parts[layer], parts[parts.size() / 2 + layer]},
                        {{"dim", int64_t{0}}, {"num_args", int64_t{2}}}));
  return made;
}

// Libraries have generators of their own: between two layers the dropout is that of the composition.
std::optional<std::vector<NDArray>> layers_one_by_one(std::span<const NDArray> in, const RnnAttrs& a) {
  const RnnSizes s(a, in[0].shape()[2]);
  RnnAttrs one = a;
  one.num_layers = 1;
  one.state_outputs = true;
  const std::optional<int64_t> first = bytes_kept_for(in, one, s.columns(0)),
                               others = bytes_kept_for(in, one, s.columns(1));
  if (!first || !others) return {};
  const std::vector<NDArray> parameters = parameters_of_layers(in[1], s);
  std::vector<std::vector<NDArray>> states;
  NDArray x = in[0];
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    if (layer > 0) x = call("Dropout", {x}, {{"p", a.p}});
    std::vector<NDArray> own{x, parameters[static_cast<size_t>(layer)]};
    for (size_t k = 2; k < in.size(); ++k)
      own.push_back(call("slice_axis", {in[k]},
                         {{"axis", int64_t{0}}, {"begin", layer * s.directions}, {"end", (layer + 1) * s.directions}}));
    std::vector<NDArray> results = layers_at_once(own, one, layer == 0 ? *first : *others);
    x = results[0];
    results.erase(results.begin());
    states.push_back(std::move(results));
  }
  std::vector<NDArray> all{x};
  static const OpDef& concat = find_op("Concat");
  for (size_t k = 0; a.state_outputs && k < states[0].size(); ++k) {
    std::vector<NDArray> parts;
    for (const std::vector<NDArray>& of_layer : states) parts.push_back(of_layer[k]);
    all.push_back(invoke_all(concat, attrs_of(concat, {{"dim", int64_t{0}}, {"num_args", s.layers}}), parts)[0]);
  }
  return all;
}

}  // namespace

std::optional<std::vector<NDArray>> layers_by_library(std::span<const NDArray> in, const RnnAttrs& a) {
  if (!is_for_library(in, a)) return {};
  if (a.p > 0 && a.num_layers > 1 && thread_state().training) return layers_one_by_one(in, a);
  const std::optional<int64_t> kept = bytes_kept_for(in, a, in[0].shape()[2]);
  if (!kept) return {};
  return layers_at_once(in, a, *kept);
}

Operators rnn_library_operators() { return {forward_layers(), backward_layers()}; }

}  // namespace headrace
