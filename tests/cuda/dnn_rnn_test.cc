// Recurrent layers by cuDNN on the plug-in's GPUs, beside the host.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autograd/autograd.h"
#include "backend/cuda/dnn.h"
#include "base/config.h"
#include "graph/cached_op.h"
#include "graph/tape_symbol.h"
#include "headrace/autograd.hpp"
#include "headrace/random.hpp"
#include "ops/rnn/layers.h"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

using Arrays = std::vector<NDArray>;

struct RnnCase {
  const char* mode;
  int64_t layers = 1;
  bool bidirectional = false;
  std::optional<int64_t> projection = {};
  int64_t state = 6;
  DType dtype = DType::kFloat32;
  bool state_outputs = true;
  double dropout = 0;
  int64_t steps = 5, batch = 3, input = 4;

  RnnAttrs attrs() const {
    return {.state_size = state,
            .num_layers = layers,
            .bidirectional = bidirectional,
            .mode = mode,
            .p = dropout,
            .state_outputs = state_outputs,
            .projection_size = projection};
  }
};

const RnnCase kRnnCases[] = {
    {.mode = "lstm"},
    {.mode = "gru"},
    {.mode = "rnn_tanh"},
    {.mode = "rnn_relu"},
    {.mode = "lstm", .layers = 3, .state_outputs = false},
    {.mode = "gru", .layers = 2, .bidirectional = true},
    {.mode = "lstm", .layers = 2, .bidirectional = true},
    {.mode = "rnn_tanh", .layers = 2, .bidirectional = true},
    {.mode = "lstm", .projection = 2},
    {.mode = "lstm", .layers = 2, .bidirectional = true, .projection = 3},
    {.mode = "gru", .layers = 2, .bidirectional = true, .state = 5},  // elsewhere in the stand-in's vector of weights
    {.mode = "lstm", .layers = 2, .projection = 3, .state = 5},
    {.mode = "lstm", .steps = 1, .batch = 1, .input = 1},
};

// How often the stand-in's cuDNN was given a pass; none where the process uses another one.
std::optional<uint64_t> count_of_rnn_passes() {
  if (config().cuda_dnn != STAND_IN_LIBRARY) return {};
  static void* const library = dlopen(STAND_IN_LIBRARY, RTLD_NOW);
  static const auto count = reinterpret_cast<uint64_t (*)()>(dlsym(library, "stand_in_rnn_passes"));
  return count();
}

bool has_rnn_library() { return has_dnn(); }

// Of a size at which no gate is closed and no sum is large.
Arrays rnn_inputs(const RnnCase& c) {
  const RnnAttrs a = c.attrs();
  const RnnSizes s(a, c.input);
  const auto scaled = [&](const Shape& shape, uint64_t seed, double scale) {
    return cast_to(call("_mul_scalar", {varied(shape, DType::kFloat32, seed)}, {{"scalar", scale}}), c.dtype);
  };
  Arrays in{scaled({c.steps, c.batch, c.input}, 80, 1), scaled({s.parameters()}, 81, 0.5),
            scaled(s.states(c.batch, s.output), 82, 1)};
  if (is_lstm(a)) in.push_back(scaled(s.states(c.batch, s.state), 83, 1));
  return in;
}

Arrays run_rnn(const RnnCase& c, const Arrays& in) { return invoke_all(find_op("RNN"), make_attrs(c.attrs()), in); }

// Whether what made the result, which was recorded, is the library's operator.
bool is_by_library(const NDArray& result) { return result.node() && result.node()->op->name == "_rnn_by_library"; }

Arrays on_gpu(const Arrays& arrays) {
  Arrays moved;
  for (const NDArray& array : arrays) moved.push_back(as_in_context(array, kGpu0));
  return moved;
}

// Some number in which each element of the results has a weight of its own.
NDArray loss_of(const Arrays& results) {
  NDArray loss;
  uint64_t seed = 90;
  for (const NDArray& result : results) {
    const NDArray factors = as_in_context(varied(result.shape(), result.dtype(), seed++), result.device());
    const NDArray sum = call("sum", {call("elemwise_mul", {call("sin", {result}), factors})});
    loss = loss ? call("elemwise_add", {loss, sum}) : sum;
  }
  return loss;
}

// The results, then the gradients of all inputs.
template <class Run>
Arrays with_gradients(Arrays in, Run run, bool train_mode = true) {
  for (NDArray& input : in) autograd::attach_grad(input);
  Arrays all;
  NDArray loss;
  {
    const autograd::RecordScope scope(train_mode);
    all = run(in);
    loss = loss_of(all);
  }
  autograd::backward(loss);
  for (const NDArray& input : in) all.push_back(autograd::grad_of(input));
  return all;
}

std::vector<double> doubles_of(const NDArray& array) {
  const NDArray wide = cast_to(as_in_context(array, {}), DType::kFloat64);
  std::vector<double> values(static_cast<size_t>(wide.size()));
  wide.copy_to_host(values.data());
  return values;
}

// Relative to the largest element, and absolute below 1: sums of many steps are taken in another order there.
void expect_near(const Arrays& there, const Arrays& here, double tolerance) {
  ASSERT_EQ(there.size(), here.size());
  for (size_t k = 0; k < there.size(); ++k) {
    ASSERT_EQ(there[k].shape(), here[k].shape()) << "array " << k;
    ASSERT_EQ(there[k].device(), kGpu0);
    const std::vector<double> a = doubles_of(there[k]), b = doubles_of(here[k]);
    double largest = 1;
    for (const double value : b) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], tolerance * largest) << "array " << k << ", element " << i;
  }
}

double rnn_tolerance(DType dtype) {
  if (dtype == DType::kBfloat16) return 1e-1;
  if (dtype == DType::kFloat16) return 1e-2;
  return config().cuda_tf32 ? 5e-3 : 2e-5;
}

// On the host in float32, whatever the case's dtype, from the same numbers.
template <class Run>
Arrays expected_of(const Arrays& in, Run run) {
  Arrays wide;
  for (const NDArray& input : in) wide.push_back(cast_to(input, DType::kFloat32));
  return run(wide);
}

void expect_rnn_as_on_host(const RnnCase& c, bool by_library = has_rnn_library()) {
  const auto run = [&](const Arrays& in) { return run_rnn(c, in); };
  const Arrays in = rnn_inputs(c);
  const Arrays here = expected_of(in, [&](const Arrays& wide) { return with_gradients(wide, run); });
  const std::optional<uint64_t> before = count_of_rnn_passes();
  const int64_t detours_before = count_of_detours();
  const Arrays there = with_gradients(on_gpu(in), run);
  expect_near(there, here, rnn_tolerance(c.dtype));
  EXPECT_EQ(count_of_detours(), detours_before);
  EXPECT_EQ(is_by_library(there[0]), by_library);
  if (before) {
    EXPECT_EQ(*count_of_rnn_passes(), *before + (by_library ? 3 : 0));
  }
}

std::string text_of(const RnnCase& c) {
  return std::string(dtype_name(c.dtype)) + " " + c.mode + ", " + std::to_string(c.layers) + " layers of " +
         std::to_string(c.state) + (c.bidirectional ? ", bidirectional" : "") + (c.projection ? ", projected" : "");
}

TEST(CudaDnnRnnSlow, LayersOfEveryKind) {
  for (const RnnCase& c : kRnnCases) {
    SCOPED_TRACE(text_of(c));
    expect_rnn_as_on_host(c);
  }
}

TEST(CudaDnnRnnSlow, LayersOfHalves) {
  for (RnnCase c : kRnnCases) {
    c.dtype = DType::kFloat16;
    SCOPED_TRACE(text_of(c));
    expect_rnn_as_on_host(c);
  }
}

TEST(CudaDnnRnnSlow, PredictionKeepsNothing) {
  for (const RnnCase& c : kRnnCases) {
    SCOPED_TRACE(text_of(c));
    const Arrays in = rnn_inputs(c);
    const std::optional<uint64_t> before = count_of_rnn_passes();
    expect_near(run_rnn(c, on_gpu(in)), run_rnn(c, in), rnn_tolerance(c.dtype));
    if (before) {
      EXPECT_EQ(*count_of_rnn_passes(), *before + 1);
    }
  }
}

TEST(CudaDnnRnnSlow, GraphsOfLayers) {
  for (const RnnCase& c : {kRnnCases[0], kRnnCases[5], kRnnCases[9], kRnnCases[4]})
    for (const bool train_mode : {true, false}) {
      SCOPED_TRACE(text_of(c));
      std::vector<Symbol> variables;
      for (const char* name : {"data", "parameters", "state", "state_cell"})
        variables.push_back(Symbol::variable(name));
      if (std::string(c.mode) != "lstm") variables.pop_back();
      Symbol::Texts texts{{"mode", c.mode},
                          {"state_size", std::to_string(c.state)},
                          {"num_layers", std::to_string(c.layers)},
                          {"bidirectional", c.bidirectional ? "True" : "False"},
                          {"state_outputs", c.state_outputs ? "True" : "False"}};
      if (c.projection) texts["projection_size"] = std::to_string(*c.projection);
      CachedOp graph(Symbol::apply("RNN", "rnn", variables, texts));
      const Arrays in = rnn_inputs(c);
      const auto run = [&](const Arrays& arrays) { return graph(arrays); };
      const Arrays here = with_gradients(in, run, train_mode);
      const std::optional<uint64_t> before = count_of_rnn_passes();
      expect_near(with_gradients(on_gpu(in), run, train_mode), here, rnn_tolerance(c.dtype));
      if (before) {  // without training what is kept is made again
        EXPECT_EQ(*count_of_rnn_passes(), *before + (train_mode ? 3 : 4));
      }
      expect_near(graph(on_gpu(in)), graph(in), rnn_tolerance(c.dtype));
    }
}

TEST(CudaDnnRnnSlow, GradientsOfSomeResultsAndTwice) {
  const RnnCase c{.mode = "lstm", .layers = 2, .bidirectional = true};
  for (size_t which = 0; which < 3; ++which) {
    const auto gradients = [&](Arrays in) {
      for (NDArray& input : in) autograd::attach_grad(input, "add");
      NDArray loss;
      {
        const autograd::RecordScope scope;
        loss = call("sum", {call("square", {run_rnn(c, in)[which]})});
      }
      autograd::backward(loss, true);
      autograd::backward(loss);
      Arrays all;
      for (size_t k : {size_t{0}, size_t{2}, size_t{3}}) all.push_back(autograd::grad_of(in[k]));
      return all;
    };
    const Arrays in = rnn_inputs(c);
    expect_near(gradients(on_gpu(in)), gradients(in), rnn_tolerance(c.dtype));
  }
}

// The library has none: they are those of the operators that the layers are made of.
TEST(CudaDnnRnnSlow, GradientsOfHigherOrder) {
  for (const RnnCase& c : {RnnCase{.mode = "lstm", .projection = 2}, RnnCase{.mode = "gru", .bidirectional = true}}) {
    SCOPED_TRACE(text_of(c));
    const auto second = [&](Arrays in) {
      for (NDArray& input : in) autograd::attach_grad(input);
      NDArray loss;
      {
        const autograd::RecordScope scope;
        const NDArray first = loss_of(run_rnn(c, in));
        const Arrays gradients = autograd::grad({&first, 1}, in, {}, true, true, true);
        loss = loss_of(gradients);
      }
      autograd::backward(loss);
      Arrays all;
      for (const NDArray& input : in) all.push_back(autograd::grad_of(input));
      return all;
    };
    const Arrays in = rnn_inputs(c);
    expect_near(second(on_gpu(in)), second(in), 5 * rnn_tolerance(c.dtype));
  }
}

TEST(CudaDnnRnnSlow, WhatTheLibraryDoesOtherwiseIsComposed) {
  expect_rnn_as_on_host({.mode = "lstm", .state = 7}, count_of_rnn_passes() ? false : has_rnn_library());
  const RnnCase wide{.mode = "lstm", .projection = 6};
  expect_rnn_as_on_host(wide, false);  // a projection as large as the state
  for (const DType dtype : {DType::kFloat64, DType::kBfloat16})
    expect_rnn_as_on_host({.mode = "gru", .dtype = dtype}, false);
}

// The library is given layer after layer.
TEST(CudaDnnRnnSlow, DropoutDrawsWhatTheHostDraws) {
  for (const RnnCase& c :
       {RnnCase{.mode = "gru", .layers = 3, .bidirectional = true, .dropout = 0.4},
        RnnCase{.mode = "lstm", .layers = 2, .projection = 2, .state_outputs = false, .dropout = 0.4},
        RnnCase{.mode = "lstm", .layers = 2, .bidirectional = true, .dropout = 0.4}}) {
    SCOPED_TRACE(text_of(c));
    const auto run = [&](const Arrays& in) {
      random::seed(11);
      return run_rnn(c, in);
    };
    const Arrays in = rnn_inputs(c);
    const Arrays here = with_gradients(in, run);
    const std::optional<uint64_t> before = count_of_rnn_passes();
    expect_near(with_gradients(on_gpu(in), run), here, rnn_tolerance(c.dtype));
    if (before) {
      EXPECT_EQ(*count_of_rnn_passes(), *before + 3 * static_cast<uint64_t>(c.layers));
    }
  }
}

// As symbols of the tape of the host's layers.
TEST(CudaDnnRnnSlow, SymbolsOfTheTapeRunOnTheHost) {
  const RnnCase c{.mode = "lstm", .layers = 2, .projection = 2};
  const Arrays in = rnn_inputs(c);
  Arrays there = on_gpu(in);
  for (NDArray& input : there) autograd::attach_grad(input);
  Symbol symbol;
  {
    const autograd::RecordScope scope;
    symbol = symbol_of_tape(run_rnn(c, there)[0]);
  }
  if (has_rnn_library()) {
    EXPECT_NE(symbol.to_json().find("\"op\": \"RNN\""), std::string::npos) << symbol.to_json();
  }
  CachedOp graph(Symbol::from_json(symbol.to_json()));
  const std::vector<std::string> names = graph.symbol().list_inputs();
  ASSERT_EQ(names.size(), in.size());
  expect_near({as_in_context(graph(in)[0], kGpu0)}, {run_rnn(c, in)[0]}, rnn_tolerance(c.dtype));
}

TEST(CudaDnnRnnSlow, BatchesOfNothing) {
  RnnCase c{.mode = "lstm"};
  c.batch = 0;
  const Arrays in = rnn_inputs(c);
  EXPECT_EQ(run_rnn(c, on_gpu(in))[0].shape(), (Shape{5, 0, 6}));
}

}  // namespace
}  // namespace headrace
