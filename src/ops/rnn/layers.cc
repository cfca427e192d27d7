// One product for the inputs of all steps, then the steps, whose pointwise parts a compiled graph fuses.
#include "ops/rnn/layers.h"

#include "base/check.h"
#include "headrace/arithmetic.hpp"

namespace headrace {
namespace {

std::vector<NDArray> parts_of(const NDArray& array, int64_t count, int64_t axis, bool squeeze) {
  static const OpDef& op = find_op("SliceChannel");
  return invoke_all(op, attrs_of(op, {{"num_outputs", count}, {"axis", axis}, {"squeeze_axis", squeeze}}), {&array, 1});
}

NDArray stacked(const std::vector<NDArray>& arrays) {
  static const OpDef& op = find_op("stack");
  return invoke_all(op, attrs_of(op, {{"axis", int64_t{0}}}), arrays)[0];
}

NDArray dense(const NDArray& x, const NDArray& weight, const NDArray* bias) {
  const int64_t rows = weight.shape()[0];
  if (!bias) return call("FullyConnected", {x, weight}, {{"num_hidden", rows}, {"no_bias", true}, {"flatten", false}});
  return call("FullyConnected", {x, weight, *bias}, {{"num_hidden", rows}, {"flatten", false}});
}

NDArray sigmoid_of(const NDArray& x) { return call("sigmoid", {x}); }
NDArray tanh_of(const NDArray& x) { return call("tanh", {x}); }

// What one direction of a layer carries from step to step; the cell is an LSTM's.
struct State {
  NDArray output, cell;
};

// One step. `x` is what the inputs add to the gates; an LSTM's outputs are rounded to `bytes`, where there are some.
class Step {
 public:
  Step(const RnnAttrs& a, const RnnWeights& weights, const RnnBytes* bytes) : a_(a), w_(weights), bytes_(bytes) {}

  State operator()(const NDArray& x, const State& before) const {
    const NDArray h = dense(before.output, w_.h2h, &w_.h2h_bias);
    if (is_lstm(a_)) return lstm(x + h, before);
    if (a_.mode == "gru") return {gru(x, h, before.output), {}};
    return {call(a_.mode == "rnn_relu" ? "relu" : "tanh", {x + h}), {}};
  }

 private:
  State lstm(const NDArray& gates, const State& before) const {
    const std::vector<NDArray> g = parts_of(gates, 4, 1, false);  // input, forget, new, output
    const NDArray cell = clipped(sigmoid_of(g[1]) * before.cell + sigmoid_of(g[0]) * tanh_of(g[2]));
    const NDArray output = sigmoid_of(g[3]) * tanh_of(cell);
    if (bytes_) return {bytes_->rounded(output), cell};
    return {w_.h2r ? dense(output, w_.h2r, nullptr) : output, cell};
  }

  static NDArray gru(const NDArray& x, const NDArray& h, const NDArray& before) {
    const std::vector<NDArray> in = parts_of(x, 3, 1, false), own = parts_of(h, 3, 1, false);  // reset, update, new
    const NDArray reset = sigmoid_of(in[0] + own[0]), update = sigmoid_of(in[1] + own[1]);
    const NDArray candidate = tanh_of(in[2] + reset * own[2]);
    return candidate + update * (before - candidate);
  }

  NDArray clipped(NDArray cell) const {
    if (!a_.lstm_state_clip_min) return cell;
    const double low = *a_.lstm_state_clip_min, high = *a_.lstm_state_clip_max;
    if (a_.lstm_state_clip_nan)
      cell = call("_npi_where", {call("_npi_isnan", {cell}), full({}, low, cell.dtype(), cell.device()), cell});
    return call("clip", {cell}, {{"a_min", low}, {"a_max", high}});
  }

  const RnnAttrs& a_;
  const RnnWeights& w_;
  const RnnBytes* bytes_;
};

// The outputs of all steps of one direction, and the state after the last one of each sequence.
class Direction {
 public:
  Direction(const RnnAttrs& a, const RnnWeights& weights, const NDArray* lengths, const RnnBytes* bytes, bool backward)
      : step_(a, weights, bytes), weights_(weights), lengths_(lengths), backward_(backward) {}

  NDArray run(const NDArray& data, State& state) const {
    const int64_t time = data.shape()[0];
    const NDArray gates = dense(turned(data), weights_.i2h, &weights_.i2h_bias);
    const std::vector<NDArray> inputs = parts_of(gates, time, 0, true);
    std::vector<NDArray> outputs;
    for (int64_t t = 0; t < time; ++t) {
      State next = step_(inputs[static_cast<size_t>(t)], state);
      if (lengths_) next = kept_where_ended(next, state, t);
      state = std::move(next);
      outputs.push_back(state.output);
    }
    NDArray result = stacked(outputs);
    if (lengths_) result = call("SequenceMask", {result, *lengths_}, {{"use_sequence_length", true}});
    return turned(result);
  }

 private:
  NDArray turned(const NDArray& data) const {
    if (!backward_) return data;
    if (lengths_) return call("SequenceReverse", {data, *lengths_}, {{"use_sequence_length", true}});
    return call("reverse", {data}, {{"axis", Shape{0}}});
  }

  State kept_where_ended(const State& next, const State& before, int64_t t) const {
    const NDArray runs = call("_greater_scalar", {*lengths_}, {{"scalar", static_cast<double>(t)}});
    const NDArray column = call("Reshape", {runs}, {{"shape", Shape{lengths_->shape()[0], 1}}});
    const auto chosen = [&](const NDArray& a, const NDArray& b) {
      return a ? call("_npi_where", {column, a, b}) : NDArray();
    };
    return {chosen(next.output, before.output), chosen(next.cell, before.cell)};
  }

  Step step_;
  const RnnWeights& weights_;
  const NDArray* lengths_;
  bool backward_;
};

}  // namespace

std::vector<RnnWeights> unpacked(const NDArray& vector, const RnnSizes& s) {
  std::vector<Shape> shapes;
  std::vector<RnnWeights> all(static_cast<size_t>(s.layers * s.directions));
  std::vector<NDArray*> weights;
  const auto add = [&](NDArray& weight, const Shape& shape) {
    weights.push_back(&weight);
    shapes.push_back(shape);
  };
  for (size_t k = 0; k < all.size(); ++k) {
    add(all[k].i2h, {s.rows(), s.columns(static_cast<int64_t>(k) / s.directions)});
    add(all[k].h2h, {s.rows(), s.output});
    if (s.projects) add(all[k].h2r, {s.output, s.state});
  }
  for (RnnWeights& w : all) {
    add(w.i2h_bias, {s.rows()});
    add(w.h2h_bias, {s.rows()});
  }
  Shape begins;
  int64_t at = 0;
  for (const Shape& shape : shapes) {
    begins.push_back(at);
    at += element_count(shape);
  }
  static const OpDef& split = find_op("_split_v2");
  const std::vector<NDArray> parts = invoke_all(split, attrs_of(split, {{"indices", begins}}), {&vector, 1});
  for (size_t k = 0; k < parts.size(); ++k) *weights[k] = call("Reshape", {parts[k]}, {{"shape", shapes[k]}});
  return all;
}

NDArray RnnBytes::number(const NDArray& byte) const { return (byte - shift) / scale; }

NDArray RnnBytes::rounded(const NDArray& x) const {
  const NDArray byte = call("rint", {x * scale + shift});
  return number(call("clip", {byte}, {{"a_min", 0.0}, {"a_max", 255.0}}));
}

void check_rnn_attrs(const RnnAttrs& a) {
  check(a.state_size > 0 && a.state_size <= INT32_MAX, ErrorKind::kValue,
        "RNN: state_size must be from 1 to {}, got {}", INT32_MAX, a.state_size);
  constexpr int64_t kMostLayers = 1 << 14;  // each is some arrays and operations
  check(a.num_layers > 0 && a.num_layers <= kMostLayers, ErrorKind::kValue,
        "RNN: num_layers must be from 1 to {}, got {}", kMostLayers, a.num_layers);
  check(a.p >= 0 && a.p < 1, ErrorKind::kValue, "RNN: the rate of dropout p must lie in [0, 1), got {}", a.p);
  check(!a.projection_size || is_lstm(a), ErrorKind::kValue, "RNN: projection_size is for mode 'lstm', got '{}'",
        a.mode);
  check(!a.projection_size || (*a.projection_size > 0 && *a.projection_size <= INT32_MAX), ErrorKind::kValue,
        "RNN: projection_size must be from 1 to {}, got {}", INT32_MAX, a.projection_size.value_or(0));
  check(a.lstm_state_clip_min.has_value() == a.lstm_state_clip_max.has_value(), ErrorKind::kValue,
        "RNN: lstm_state_clip_min and lstm_state_clip_max go together; one of them is missing");
}

void check_rnn_call(std::span<const NDArray> in, const RnnAttrs& a) {
  check_rnn_attrs(a);
  const size_t wanted = base_inputs(a) + (a.use_sequence_length ? 1 : 0);
  check(in.size() == wanted, ErrorKind::kType, "RNN: mode '{}'{} takes {} arrays (data, parameters, state{}{}), got {}",
        a.mode, a.use_sequence_length ? " with sequence lengths" : "", wanted, is_lstm(a) ? ", state_cell" : "",
        a.use_sequence_length ? ", sequence_length" : "", in.size());
  const Shape& data = in[0].shape();
  check(data.size() == 3 && data[0] > 0, ErrorKind::kRuntime,
        "RNN: data must have shape (steps, batch, channels) with at least one step, got {}", to_string(data));
  const RnnSizes s(a, data[2]);
  const auto expect = [&](size_t k, const char* name, const Shape& shape) {
    check(in[k].shape() == shape, ErrorKind::kRuntime, "RNN: Shape inconsistent, {} must have shape {}, got {}", name,
          to_string(shape), to_string(in[k].shape()));
  };
  expect(1, "parameters", {s.parameters()});
  expect(2, "state", s.states(data[1], s.output));
  if (is_lstm(a)) expect(3, "state_cell", s.states(data[1], s.state));
  if (a.use_sequence_length) expect(in.size() - 1, "sequence_length", {data[1]});
}

std::vector<NDArray> run_layers(std::span<const NDArray> in, const RnnAttrs& a, const std::vector<RnnWeights>& weights,
                                const RnnBytes* bytes) {
  NDArray x = in[0];
  const RnnSizes s(a, x.shape()[2]);
  const int64_t count = s.layers * s.directions;
  const std::vector<NDArray> outputs = parts_of(in[2], count, 0, true);
  const std::vector<NDArray> cells = is_lstm(a) ? parts_of(in[3], count, 0, true) : std::vector<NDArray>();
  std::vector<NDArray> last_outputs, last_cells;
  size_t k = 0;
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    if (layer > 0 && a.p > 0) x = call("Dropout", {x}, {{"p", a.p}});
    std::vector<NDArray> results;
    for (int64_t d = 0; d < s.directions; ++d, ++k) {
      State state{outputs[k], is_lstm(a) ? cells[k] : NDArray()};
      const NDArray* lengths = a.use_sequence_length ? &in.back() : nullptr;
      results.push_back(Direction(a, weights[k], lengths, bytes, d == 1).run(x, state));
      last_outputs.push_back(state.output);
      last_cells.push_back(state.cell);
    }
    x = results.size() == 1 ? results[0] : call("Concat", {results[0], results[1]}, {{"dim", int64_t{2}}});
  }
  std::vector<NDArray> all{x};
  if (a.state_outputs) all.push_back(stacked(last_outputs));
  if (a.state_outputs && is_lstm(a)) all.push_back(stacked(last_cells));
  return all;
}

void complete_rnn(Completion& c, const RnnAttrs& a) {
  check_rnn_attrs(a);
  if (c.has_rank(2) && c.shape(2).size() == 3) c.set(0, {-1, c.shape(2)[1], -1});
  if (!c.has_rank(0) || c.shape(0).size() != 3) return;
  const Shape data = c.shape(0);
  const RnnSizes s(a, data[2]);
  if (data[2] != -1) c.set(1, {s.parameters()});
  c.set(2, s.states(data[1], s.output));
  if (is_lstm(a)) c.set(3, s.states(data[1], s.state));
  if (a.use_sequence_length) c.set(base_inputs(a), {data[1]});
  c.set_output(0, {data[0], data[1], s.directions * s.output});
  c.set_output(1, s.states(data[1], s.output));
  if (is_lstm(a)) c.set_output(2, s.states(data[1], s.state));
}

Sample rnn_sample(const RnnAttrs& a) {
  constexpr int64_t kBatch = 2, kInput = 3;
  const RnnSizes s(a, kInput);
  std::vector<SampleArray> inputs{uniform({3, kBatch, kInput}), uniform({s.parameters()}, -0.5, 0.5),
                                  uniform(s.states(kBatch, s.output))};
  if (is_lstm(a)) inputs.push_back(uniform(s.states(kBatch, s.state)));
  if (a.use_sequence_length) inputs.push_back(values({1, 3}));
  return Sample(std::move(inputs), make_attrs(a));
}

}  // namespace headrace
