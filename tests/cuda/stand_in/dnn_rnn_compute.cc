// What the stand-in's cuDNN computes of recurrent layers, by plain loops.
#if __has_include(<cudnn_adv.h>)

#include <algorithm>
#include <cmath>

#include "tests/cuda/stand_in/dnn_rnn.h"
#include "tests/cuda/stand_in/elements.h"
#include "tests/cuda/stand_in/machine.h"

namespace stand_in {
namespace {

using Numbers = std::vector<double>;

constexpr double kAfterForward = 4711, kAfterData = 4712;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What one direction of a layer leaves for the backward passes, as rows for each step and sequence.
struct Kept {
  double *in, *gates, *cell, *before, *out;  // input, activations, cell, output before its projection, output
  double *of_inputs, *of_states, *of_out;    // gradients of what inputs and states add to the gates, and of the output
};

class RnnRun {
 public:
  RnnRun(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays, double* reserve)
      : of_(of),
        places_(of),
        steps_(steps),
        batch_(batch),
        a_(arrays),
        type_(of.type == CUDNN_DATA_HALF ? CUDA_R_16F : CUDA_R_32F),
        state_(reserve) {
    double* next = reserve + 1;
    const auto take = [&](int64_t width) {
      double* const begin = next;
      next += rows() * width;
      return begin;
    };
    for (int64_t p = 0; p < of.pseudo_layers(); ++p) {
      const int64_t h = of.hidden, g = of.gates() * h;
      kept_.push_back(
          {take(of.columns(p)), take(4 * h), take(h), take(h), take(of.output), take(g), take(g), take(of.output)});
    }
  }

  void forward() {
    for (int64_t p = 0; p < of_.pseudo_layers(); ++p) {
      gather_input(p);
      for (int64_t k = 0; k < steps_; ++k)
        for (int64_t b = 0; b < batch_; ++b) step(p, k, b);
      put_states(p);
    }
    put_outputs();
    *state_ = kAfterForward;
  }

  void backward_data(const RnnGradients& g) {
    if (*state_ != kAfterForward) violation("cudnnRNNBackwardData_v8: the reserve is not that of a forward pass");
    *state_ = kAfterData;
    const int64_t width = of_.directions * of_.output;
    Numbers above(static_cast<size_t>(rows() * width));
    for (size_t i = 0; i < above.size(); ++i) above[i] = g.dy ? load(type_, g.dy, static_cast<int64_t>(i)) : 0;
    for (int64_t layer = of_.layers; layer-- > 0;) {
      Numbers below(static_cast<size_t>(rows() * of_.columns(layer * of_.directions)));
      for (int64_t d = 0; d < of_.directions; ++d) backward_direction(layer * of_.directions + d, above, below, g);
      above = std::move(below);
    }
    for (size_t i = 0; i < above.size(); ++i) store(type_, g.dx, static_cast<int64_t>(i), above[i]);
  }

  void backward_weights(char* sums) {
    if (*state_ != kAfterData) violation("cudnnRNNBackwardWeights_v8: the pass for the data did not come before");
    for (int64_t p = 0; p < of_.pseudo_layers(); ++p) {
      const Kept& kept = kept_[at(p)];
      for (int64_t g = 0; g < of_.gates(); ++g) {
        add_products(sums, p, places_.matrices[at(p)][at(g)], kept.of_inputs, g, of_.columns(p),
                     [&](int64_t k, int64_t b) { return kept.in + row(p, k, b) * of_.columns(p); });
        Numbers before(static_cast<size_t>(of_.output));
        add_products(sums, p, places_.matrices[at(p)][at(of_.gates() + g)], kept.of_states, g, of_.output,
                     [&](int64_t k, int64_t b) {
                       for (int64_t o = 0; o < of_.output; ++o) before[at(o)] = output_before(p, k, b, o);
                       return before.data();
                     });
        add_sums(sums, places_.biases[at(p)][at(g)], kept.of_inputs, g);
        add_sums(sums, places_.biases[at(p)][at(of_.gates() + g)], kept.of_states, g);
      }
      if (of_.projects()) add_projection(sums, p);
    }
  }

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }
  int64_t rows() const { return steps_ * batch_; }
  // Of the k-th step that a direction takes.
  int64_t row(int64_t p, int64_t k, int64_t b) const {
    return (p % of_.directions == 1 ? steps_ - 1 - k : k) * batch_ + b;
  }
  double weight(int64_t place) const { return load(type_, a_.weights, place); }
  double matrix(int64_t p, int64_t k, int64_t i, int64_t j, int64_t columns) const {
    return weight(places_.matrices[at(p)][at(k)] + i * columns + j);
  }
  double first(const char* states, int64_t p, int64_t b, int64_t i, int64_t size) const {
    return states ? load(type_, states, (p * batch_ + b) * size + i) : 0;
  }
  double output_before(int64_t p, int64_t k, int64_t b, int64_t o) const {
    return k == 0 ? first(a_.hx, p, b, o, of_.output) : kept_[at(p)].out[row(p, k - 1, b) * of_.output + o];
  }
  double cell_before(int64_t p, int64_t k, int64_t b, int64_t h) const {
    return k == 0 ? first(a_.cx, p, b, h, of_.hidden) : kept_[at(p)].cell[row(p, k - 1, b) * of_.hidden + h];
  }

  void gather_input(int64_t p) {
    const int64_t columns = of_.columns(p), layer = p / of_.directions;
    for (int64_t r = 0; r < rows(); ++r)
      for (int64_t j = 0; j < columns; ++j) {
        double& to = kept_[at(p)].in[r * columns + j];
        if (layer == 0)
          to = load(type_, a_.x, r * columns + j);
        else
          to = kept_[at((layer - 1) * of_.directions + j / of_.output)].out[r * of_.output + j % of_.output];
      }
  }

  // What the inputs, and the states before, add to one gate.
  double from_input(int64_t p, int64_t g, int64_t r, int64_t h) const {
    double sum = weight(places_.biases[at(p)][at(g)] + h);
    for (int64_t j = 0; j < of_.columns(p); ++j)
      sum += matrix(p, g, h, j, of_.columns(p)) * kept_[at(p)].in[r * of_.columns(p) + j];
    return sum;
  }
  double from_state(int64_t p, int64_t g, int64_t k, int64_t b, int64_t h) const {
    double sum = weight(places_.biases[at(p)][at(of_.gates() + g)] + h);
    for (int64_t o = 0; o < of_.output; ++o)
      sum += matrix(p, of_.gates() + g, h, o, of_.output) * output_before(p, k, b, o);
    return sum;
  }

  void step(int64_t p, int64_t k, int64_t b) {
    const int64_t r = row(p, k, b);
    const Kept& kept = kept_[at(p)];
    for (int64_t h = 0; h < of_.hidden; ++h) {
      double* const act = kept.gates + (r * of_.hidden + h) * 4;
      double x[4] = {}, s[4] = {};
      for (int64_t g = 0; g < of_.gates(); ++g) {
        x[g] = from_input(p, g, r, h);
        s[g] = from_state(p, g, k, b, h);
      }
      double& before = kept.before[r * of_.hidden + h];
      if (of_.cell == CUDNN_LSTM) {
        for (int g = 0; g < 4; ++g) act[g] = g == 2 ? std::tanh(x[g] + s[g]) : sigmoid(x[g] + s[g]);
        double& cell = kept.cell[r * of_.hidden + h];
        cell = act[1] * cell_before(p, k, b, h) + act[0] * act[2];
        before = act[3] * std::tanh(cell);
      } else if (of_.cell == CUDNN_GRU) {
        act[0] = sigmoid(x[0] + s[0]);
        act[1] = sigmoid(x[1] + s[1]);
        act[2] = std::tanh(x[2] + act[0] * s[2]);
        act[3] = s[2];
        before = (1 - act[1]) * act[2] + act[1] * output_before(p, k, b, h);
      } else {
        before = of_.cell == CUDNN_RNN_RELU ? std::max(0.0, x[0] + s[0]) : std::tanh(x[0] + s[0]);
        act[0] = before;
      }
    }
    for (int64_t o = 0; o < of_.output; ++o) {
      double sum = 0;
      for (int64_t h = 0; of_.projects() && h < of_.hidden; ++h)
        sum += matrix(p, 8, o, h, of_.hidden) * kept.before[r * of_.hidden + h];
      kept.out[r * of_.output + o] = of_.projects() ? sum : kept.before[r * of_.hidden + o];
    }
  }

  void put_states(int64_t p) {
    for (int64_t b = 0; b < batch_; ++b) {
      const int64_t r = row(p, steps_ - 1, b);
      for (int64_t o = 0; a_.hy && o < of_.output; ++o)
        store(type_, a_.hy, (p * batch_ + b) * of_.output + o, kept_[at(p)].out[r * of_.output + o]);
      for (int64_t h = 0; of_.cell == CUDNN_LSTM && a_.cy && h < of_.hidden; ++h)
        store(type_, a_.cy, (p * batch_ + b) * of_.hidden + h, kept_[at(p)].cell[r * of_.hidden + h]);
    }
  }

  void put_outputs() {
    const int64_t width = of_.directions * of_.output;
    for (int64_t r = 0; r < rows(); ++r)
      for (int64_t j = 0; j < width; ++j) {
        const Kept& kept = kept_[at((of_.layers - 1) * of_.directions + j / of_.output)];
        store(type_, a_.y, r * width + j, kept.out[r * of_.output + j % of_.output]);
      }
  }

  void backward_direction(int64_t p, const Numbers& above, Numbers& below, const RnnGradients& g) {
    const int64_t width = of_.directions * of_.output;
    for (int64_t b = 0; b < batch_; ++b) {
      Numbers out(at(of_.output)), cell(at(of_.hidden));
      for (int64_t o = 0; o < of_.output; ++o) out[at(o)] = first(g.dhy, p, b, o, of_.output);
      for (int64_t h = 0; of_.cell == CUDNN_LSTM && h < of_.hidden; ++h)
        cell[at(h)] = first(g.dcy, p, b, h, of_.hidden);
      for (int64_t k = steps_; k-- > 0;) {
        const int64_t r = row(p, k, b);
        for (int64_t o = 0; o < of_.output; ++o)
          out[at(o)] += above[at(r * width + p % of_.directions * of_.output + o)];
        step_back(p, k, b, out, cell);
        for (int64_t j = 0; j < of_.columns(p); ++j)
          for (int64_t q = 0; q < of_.gates(); ++q)
            for (int64_t h = 0; h < of_.hidden; ++h)
              below[at(r * of_.columns(p) + j)] +=
                  matrix(p, q, h, j, of_.columns(p)) * kept_[at(p)].of_inputs[(r * of_.gates() + q) * of_.hidden + h];
      }
      for (int64_t o = 0; g.dhx && o < of_.output; ++o)
        store(type_, g.dhx, (p * batch_ + b) * of_.output + o, out[at(o)]);
      for (int64_t h = 0; of_.cell == CUDNN_LSTM && g.dcx && h < of_.hidden; ++h)
        store(type_, g.dcx, (p * batch_ + b) * of_.hidden + h, cell[at(h)]);
    }
  }

  // From the gradients of a step's output and cell to those of the step before.
  void step_back(int64_t p, int64_t k, int64_t b, Numbers& out, Numbers& cell) {
    const int64_t r = row(p, k, b), hidden = of_.hidden;
    const Kept& kept = kept_[at(p)];
    std::copy(out.begin(), out.end(), kept.of_out + r * of_.output);
    Numbers direct(at(of_.output));
    for (int64_t h = 0; h < hidden; ++h) {
      double own = of_.projects() ? 0 : out[at(h)];
      for (int64_t o = 0; of_.projects() && o < of_.output; ++o) own += matrix(p, 8, o, h, hidden) * out[at(o)];
      const double* const act = kept.gates + (r * hidden + h) * 4;
      double x[4] = {}, s[4] = {};
      if (of_.cell == CUDNN_LSTM) {
        const double bent = std::tanh(kept.cell[r * hidden + h]);
        const double of_cell = cell[at(h)] + own * act[3] * (1 - bent * bent);
        x[0] = of_cell * act[2] * act[0] * (1 - act[0]);
        x[1] = of_cell * cell_before(p, k, b, h) * act[1] * (1 - act[1]);
        x[2] = of_cell * act[0] * (1 - act[2] * act[2]);
        x[3] = own * bent * act[3] * (1 - act[3]);
        std::copy_n(x, 4, s);
        cell[at(h)] = of_cell * act[1];
      } else if (of_.cell == CUDNN_GRU) {
        x[2] = own * (1 - act[1]) * (1 - act[2] * act[2]);
        x[1] = own * (output_before(p, k, b, h) - act[2]) * act[1] * (1 - act[1]);
        x[0] = x[2] * act[3] * act[0] * (1 - act[0]);
        std::copy_n(x, 2, s);
        s[2] = x[2] * act[0];
        direct[at(h)] = own * act[1];
      } else {
        x[0] = own * (of_.cell == CUDNN_RNN_RELU ? (act[0] > 0 ? 1 : 0) : 1 - act[0] * act[0]);
        s[0] = x[0];
      }
      for (int64_t g = 0; g < of_.gates(); ++g) {
        kept.of_inputs[(r * of_.gates() + g) * hidden + h] = x[g];
        kept.of_states[(r * of_.gates() + g) * hidden + h] = s[g];
      }
    }
    for (int64_t o = 0; o < of_.output; ++o) {
      double sum = direct[at(o)];
      for (int64_t g = 0; g < of_.gates(); ++g)
        for (int64_t h = 0; h < hidden; ++h)
          sum += matrix(p, of_.gates() + g, h, o, of_.output) * kept.of_states[(r * of_.gates() + g) * hidden + h];
      out[at(o)] = sum;
    }
  }

  void add(char* sums, int64_t place, double value) { store(type_, sums, place, load(type_, sums, place) + value); }

  template <class Factor>
  void add_products(char* sums, int64_t p, int64_t place, const double* gradients, int64_t g, int64_t columns,
                    Factor factor) {
    Numbers made(at(of_.hidden * columns));
    for (int64_t k = 0; k < steps_; ++k)
      for (int64_t b = 0; b < batch_; ++b) {
        const double* const row_of = factor(k, b);
        for (int64_t h = 0; h < of_.hidden; ++h)
          for (int64_t j = 0; j < columns; ++j)
            made[at(h * columns + j)] += gradients[(row(p, k, b) * of_.gates() + g) * of_.hidden + h] * row_of[j];
      }
    for (size_t i = 0; i < made.size(); ++i) add(sums, place + static_cast<int64_t>(i), made[i]);
  }

  void add_sums(char* sums, int64_t place, const double* gradients, int64_t g) {
    for (int64_t h = 0; h < of_.hidden; ++h) {
      double sum = 0;
      for (int64_t r = 0; r < rows(); ++r) sum += gradients[(r * of_.gates() + g) * of_.hidden + h];
      add(sums, place + h, sum);
    }
  }

  void add_projection(char* sums, int64_t p) {
    for (int64_t o = 0; o < of_.output; ++o)
      for (int64_t h = 0; h < of_.hidden; ++h) {
        double sum = 0;
        for (int64_t r = 0; r < rows(); ++r)
          sum += kept_[at(p)].of_out[r * of_.output + o] * kept_[at(p)].before[r * of_.hidden + h];
        add(sums, places_.matrices[at(p)][8] + o * of_.hidden + h, sum);
      }
  }

  const RnnLayers& of_;
  const RnnPlaces places_;
  const int64_t steps_, batch_;
  const RnnArrays& a_;
  const cudaDataType_t type_;
  double* state_;
  std::vector<Kept> kept_;
};

}  // namespace

RnnPlaces::RnnPlaces(const RnnLayers& of) : matrices(), biases() {
  const int64_t gap = of.hidden == 5 ? 3 : 0;
  const auto take = [&](int64_t count) {
    elements += count;
    return elements - count;
  };
  for (int64_t p = 0; p < of.pseudo_layers(); ++p) {
    auto& own = matrices.emplace_back();
    take(gap);
    for (int64_t k = 0; k < 2 * of.gates(); ++k)
      own.push_back(take(of.hidden * (k < of.gates() ? of.columns(p) : of.output)));
    if (of.projects()) own.push_back(take(of.output * of.hidden));
  }
  for (int64_t p = 0; p < of.pseudo_layers(); ++p) {
    auto& own = biases.emplace_back();
    take(gap);
    for (int64_t k = 0; k < 2 * of.gates(); ++k) own.push_back(take(of.hidden));
  }
}

int64_t reserve_doubles(const RnnLayers& of, int64_t steps, int64_t batch) {
  int64_t width = 0;
  for (int64_t p = 0; p < of.pseudo_layers(); ++p)
    width += of.columns(p) + (6 + 2 * of.gates()) * of.hidden + 2 * of.output;
  return 1 + steps * batch * width;
}

void rnn_forward(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays) {
  Numbers own;
  if (!arrays.reserve) own.resize(static_cast<size_t>(reserve_doubles(of, steps, batch)));
  RnnRun(of, steps, batch, arrays, arrays.reserve ? arrays.reserve : own.data()).forward();
}

void rnn_backward_data(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays,
                       const RnnGradients& gradients) {
  RnnRun(of, steps, batch, arrays, arrays.reserve).backward_data(gradients);
}

void rnn_backward_weights(const RnnLayers& of, int64_t steps, int64_t batch, const RnnArrays& arrays, char* dweights) {
  RnnRun(of, steps, batch, arrays, arrays.reserve).backward_weights(dweights);
}

}  // namespace stand_in

#endif
