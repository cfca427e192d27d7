#include "ops/normalization/batch_norm.h"

#include <cmath>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "op/thread_state.h"
#include "ops/normalization/memory_order.h"
#include "ops/normalization/sync_batch_norm.h"

namespace headrace {
namespace {

struct BatchNormAttrs {
  double eps = 1e-3, momentum = 0.9;
  bool fix_gamma = true, use_global_stats = false, output_mean_var = false;
  int64_t axis = 1;
  bool cudnn_off = false;
  std::optional<double> min_calib_range = {}, max_calib_range = {};
  static constexpr auto kFields = fields(
      field(&BatchNormAttrs::eps, "eps", "Added to the variance."),
      field(&BatchNormAttrs::momentum, "momentum", "Share of the old value in a moving statistic."),
      field(&BatchNormAttrs::fix_gamma, "fix_gamma", "Whether gamma counts as 1; training sets it to 1."),
      field(&BatchNormAttrs::use_global_stats, "use_global_stats", "Whether to use the moving statistics always."),
      field(&BatchNormAttrs::output_mean_var, "output_mean_var", "Also give the mean and 1 / sqrt(variance + eps)."),
      field(&BatchNormAttrs::axis, "axis", "Axis of the channels; negative counts from the end."),
      field(&BatchNormAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."),
      field(&BatchNormAttrs::min_calib_range, "min_calib_range", "Ignored; symbol files carry it."),
      field(&BatchNormAttrs::max_calib_range, "max_calib_range", "Ignored; symbol files carry it."));
};

struct SyncBatchNormAttrs {
  double eps = 1e-3, momentum = 0.9;
  bool fix_gamma = true, use_global_stats = false, output_mean_var = false;
  int64_t ndev = 1;
  std::string key = "";
  static constexpr auto kFields = fields(
      field(&SyncBatchNormAttrs::eps, "eps", "Added to the variance."),
      field(&SyncBatchNormAttrs::momentum, "momentum", "Share of the old value in a moving statistic."),
      field(&SyncBatchNormAttrs::fix_gamma, "fix_gamma", "Whether gamma counts as 1; training sets it to 1."),
      field(&SyncBatchNormAttrs::use_global_stats, "use_global_stats", "Whether to use the moving statistics always."),
      field(&SyncBatchNormAttrs::output_mean_var, "output_mean_var",
            "Also give the mean and 1 / sqrt(variance + eps)."),
      field(&SyncBatchNormAttrs::ndev, "ndev", "Number of devices that share statistics."),
      field(&SyncBatchNormAttrs::key, "key", "Names the layer: calls with one key share statistics.").required());
};

// --- the internal operators: what a call does is in their attributes alone -------------------------------------------

// Parameters and statistics beside data of this dtype.
DType dtype_of_parameters(DType data) { return data == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

void infer_batch_core(Infer& i, const BatchNormCore& a) {
  const Shape& shape = i.shape(0);
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(shape.size()), "BatchNorm");
  i.require(is_floating(i.dtype(0)), ErrorKind::kType, "data must hold floats, got {}; convert it with astype",
            dtype_name(i.dtype(0)));
  const DType parameters = dtype_of_parameters(i.dtype(0));
  const Shape wanted{shape[static_cast<size_t>(axis)]};
  static const char* const kNames[] = {"data", "gamma", "beta", "moving_mean", "moving_var"};
  for (size_t k = 1; k < 5; ++k) {
    i.require(i.shape(k) == wanted, ErrorKind::kRuntime, "{} must have shape {} (axis {} of data {}), got {}",
              kNames[k], to_string(wanted), axis, to_string(shape), to_string(i.shape(k)));
    i.require(i.dtype(k) == parameters, ErrorKind::kRuntime, "{} must hold {} beside data of {}, got {}", kNames[k],
              dtype_name(parameters), dtype_name(i.dtype(0)), dtype_name(i.dtype(k)));
  }
  i.output(shape, i.dtype(0), strides_like(shape, i.strides(0), axis));
  i.output(wanted, parameters);
  i.output(wanted, parameters);
  i.cost(200 + static_cast<double>(i.size(0)) * 0.6);
}

// Operators that give the gradients again, to be differentiated themselves.
struct Composed {
  const Gradient& g;
  int64_t axis;
  DType dtype;
  Shape along;

  Composed(const Gradient& gradient, int64_t a)
      : g(gradient), axis(a), dtype(gradient.input(1).dtype()), along(gradient.input(0).ndim(), 1) {
    along[static_cast<size_t>(axis)] = gradient.input(1).size();
  }
  NDArray spread(const NDArray& v) const { return call("_reshape_to", {v}, {{"shape", along}}); }
  NDArray sum(const NDArray& v) const { return call("sum", {v}, {{"axis", Shape{axis}}, {"exclude", true}}); }
  NDArray mean(const NDArray& v) const {
    return call("mean", {v}, {{"axis", Shape{axis}}, {"exclude", true}, {"keepdims", true}});
  }
};

void composed_batch_gradient(Gradient& g, const BatchNormCore& a, int64_t axis, bool through_statistics) {
  const Composed o(g, axis);
  NDArray x = cast_to(g.input(0), o.dtype), dy = cast_to(g.head(), o.dtype), centered, scale;
  if (through_statistics) {
    centered = x - o.mean(x);
    NDArray variance = o.mean(call("square", {centered}));
    scale = call("rsqrt", {variance + a.eps});
  } else {
    centered = x - o.spread(g.output(1));
    scale = o.spread(g.output(2));
  }
  NDArray z = centered * scale;
  NDArray gamma = o.spread(a.fix_gamma ? ones_like(g.input(1)) : g.input(1));
  if (a.activation == "relu") {
    NDArray y = z * gamma + o.spread(g.input(2));
    dy = dy * call("_greater_scalar", {without_history(y)}, {{"scalar", 0.0}});
  }
  if (g.wants(0)) {
    NDArray weighted = dy * gamma;
    if (through_statistics) {
      NDArray along_z = z * o.mean(weighted * z);
      weighted = weighted - o.mean(weighted) - along_z;
    }
    g.set(0, cast_to(weighted * scale, g.input(0).dtype()));
  }
  if (g.wants(1)) g.set(1, a.fix_gamma ? zeros_like(g.input(1)) : o.sum(dy * z));
  if (g.wants(2)) g.set(2, o.sum(dy));
}

void core_gradient(Gradient& g, const BatchNormCore& a, bool through_statistics) {
  if (!g.has_head(0)) return;  // the statistics pass no gradient on
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(g.input(0).ndim()), "BatchNorm");
  if (thread_state().recording) return composed_batch_gradient(g, a, axis, through_statistics);
  static const OpDef& backward = find_op("_backward_BatchNorm");
  const NDArray inputs[] = {g.head(), g.input(0), g.input(1), g.input(2), g.output(1), g.output(2)};
  const BatchNormBack attrs{axis, a.fix_gamma, through_statistics, a.activation};
  std::vector<NDArray> gradients = invoke_all(backward, make_attrs(attrs), inputs);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (g.wants(i)) g.set(i, gradients[i]);
}

OpDef batch_core(const char* name, const char* doc, bool training) {
  return {.name = name,
          .doc = doc,
          .inputs = {"data", "gamma", "beta", "moving_mean", "moving_var"},
          .outputs = 3,
          .infer = infer_batch_core,
          .kernel = [training](KernelContext& c,
                               const BatchNormCore& a) { (training ? batch_norm_train : batch_norm_predict)(c, a); },
          .gradient = [training](Gradient& g, const BatchNormCore& a) { core_gradient(g, a, training); },
          .saves_inputs = 0b00111,
          .saves_outputs = 0b110,
          .strided_inputs = true};
}

// Data, gamma, beta, and the moving statistics or those of the batch.
std::vector<SampleArray> sample_arrays(Shape data) {
  return {uniform(std::move(data)), uniform({3}, 0.5, 1.5), uniform({3}), uniform({3}), uniform({3}, 0.5, 2)};
}

std::vector<Sample> core_samples() {
  return {Sample(sample_arrays({2, 3, 2, 2}), make_attrs(BatchNormCore{.fix_gamma = false})),
          Sample(sample_arrays({2, 4, 2, 3}), make_attrs(BatchNormCore{.axis = -1, .activation = "relu"}))};
}

OpDef training_core() {
  auto parts =
      batch_core("_batch_norm_train",
                 "Batch normalisation with the statistics of the batch, which go into the moving statistics. Gives "
                 "the result, the mean and 1 / sqrt(variance + eps).",
                 true);
  parts.mutates = 0b11010;
  parts.samples = core_samples();
  return general<BatchNormCore>(std::move(parts));
}

OpDef predicting_core() {
  auto parts =
      batch_core("_batch_norm_predict",
                 "Batch normalisation with the moving statistics. Gives the result, the mean and 1 / sqrt(variance "
                 "+ eps).",
                 false);
  parts.own_gradient = true;
  parts.samples = core_samples();
  return general<BatchNormCore>(std::move(parts));
}

OpDef with_known_statistics() {
  return general<BatchNormAgain>(
      {.name = "_batch_norm_again",
       .doc = "The result of batch normalisation with these statistics once more.",
       .inputs = {"data", "gamma", "beta", "mean", "inverse_deviation"},
       .infer =
           [](Infer& i, const BatchNormAgain& a) {
             infer_batch_norm_again(i, normalize_axis(a.axis, static_cast<int64_t>(i.shape(0).size()), "BatchNorm"));
           },
       .kernel = [](KernelContext& c, const BatchNormAgain& a) { batch_norm_again(c, a); },
       .strided_inputs = true,
       .samples = {Sample(sample_arrays({2, 3, 2, 2}), make_attrs(BatchNormAgain{.fix_gamma = false})),
                   Sample(sample_arrays({2, 4, 2, 3}), make_attrs(BatchNormAgain{.axis = -1, .activation = "relu"}))}});
}

struct AffineAttrs {
  double eps = 1e-3;
  bool fix_gamma = true;
  static constexpr auto kFields = fields(field(&AffineAttrs::eps, "eps", "Added to the variance."),
                                         field(&AffineAttrs::fix_gamma, "fix_gamma", "Whether gamma counts as 1."));
};

OpDef affine_of_statistics() {
  return general<AffineAttrs>(
      {.name = "_batch_norm_affine",
       .doc = "Batch normalisation with the moving statistics as x * scale + shift: scale and "
              "shift, float32.",
       .inputs = {"gamma", "beta", "moving_mean", "moving_var"},
       .outputs = 2,
       .complete =
           [](Completion& c, const AffineAttrs&) {
             for (size_t k = 0; k < 2; ++k)
               for (size_t i = 0; i < 4; ++i) c.set_equal(i, k);
           },
       .infer =
           [](Infer& i, const AffineAttrs&) {
             for (size_t k = 0; k < 4; ++k)
               i.require(i.dtype(k) == DType::kFloat32 && i.shape(k) == i.shape(0), ErrorKind::kRuntime,
                         "float32 arrays of one shape are needed");
             i.output(i.shape(0), DType::kFloat32);
             i.output(i.shape(0), DType::kFloat32);
           },
       .kernel = [](KernelContext& c, const AffineAttrs& a) { batch_norm_affine(c, a.eps, a.fix_gamma); },
       .samples = {Sample({uniform({3}), uniform({3}), uniform({3}), uniform({3}, 0.5, 2)},
                          make_attrs(AffineAttrs{.fix_gamma = false}))}});
}

// Gives the axis of the channels.
int64_t require_back(const Infer& i, const BatchNormBack& a) {
  const Shape& data = i.shape(1);
  const int64_t axis = normalize_axis(a.axis, static_cast<int64_t>(data.size()), "BatchNorm");
  const DType parameters = dtype_of_parameters(i.dtype(1));
  expect_floats(i, 1);
  expect_type(i, 0, data, i.dtype(1));
  for (size_t k = 2; k < 6; ++k) expect_type(i, k, Shape{data[static_cast<size_t>(axis)]}, parameters);
  return axis;
}

std::vector<Sample> back_samples() {
  const auto arrays = [](const Shape& data) {
    std::vector<SampleArray> all = sample_arrays(data);
    all.insert(all.begin(), uniform(data));
    return all;
  };
  return {Sample(arrays({2, 3, 2, 2}), make_attrs(BatchNormBack{.fix_gamma = false})),
          Sample(arrays({2, 4, 2, 3}),
                 make_attrs(BatchNormBack{.axis = -1, .through_statistics = false, .activation = "relu"}))};
}

OpDef batch_core_backward() {
  return general<BatchNormBack>({.name = "_backward_BatchNorm",
                                 .doc = "Gradients of batch normalisation: of data, gamma and beta.",
                                 .inputs = {"gradient", "data", "gamma", "beta", "mean", "inverse_deviation"},
                                 .outputs = 3,
                                 .infer =
                                     [](Infer& i, const BatchNormBack& a) {
                                       const int64_t axis = require_back(i, a);
                                       const Shape& data = i.shape(1);
                                       i.output(data, i.dtype(1), strides_like(data, i.strides(1), axis));
                                       i.output(i.shape(2), i.dtype(2));
                                       i.output(i.shape(2), i.dtype(2));
                                       i.cost(200 + static_cast<double>(i.size(1)) * 1.2);
                                     },
                                 .kernel = [](KernelContext& c, const BatchNormBack& a) { batch_norm_backward(c, a); },
                                 .strided_inputs = true,
                                 .samples = back_samples()});
}

// --- the operators of users ------------------------------------------------------------------------------------------

// `count` of: the result, the mean, 1 / sqrt(variance + eps).
template <class A>
std::vector<NDArray> batch_norm(std::span<const NDArray> in, const A& a, int64_t axis, std::string activation,
                                size_t count) {
  static const OpDef& training = find_op("_batch_norm_train");
  static const OpDef& predicting = find_op("_batch_norm_predict");
  const bool trains = thread_state().training && !a.use_global_stats;
  const BatchNormCore attrs{axis, a.eps, a.momentum, a.fix_gamma, std::move(activation)};
  std::vector<NDArray> results = invoke_all(trains ? training : predicting, make_attrs(attrs), in);
  results.resize(count);
  return results;
}

void complete(Completion& c, int64_t axis) {
  c.set_equal(0);
  if (!c.has_rank(0)) return;
  const Shape& shape = c.shape(0);
  const int64_t channels =
      shape[static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(shape.size()), c.name()))];
  for (size_t k = 1; k < 5; ++k) c.set(k, Shape{channels});
}

constexpr const char* kDoc =
    R"((x - mean) / sqrt(variance + eps) * gamma + beta, mean and variance being those of each channel.

While training (autograd.record() or train_mode()) and unless use_global_stats, the statistics are those of the batch, and
moving_mean and moving_var become old * momentum + new * (1 - momentum), with the variance divided by the number of
elements. Otherwise the moving statistics are used. fix_gamma (the default) takes gamma for 1. Parameters and statistics
hold float32 beside data of float16 or bfloat16. Raises MXNetError when shapes or dtypes do not fit.)";

template <class A>
OpDef user_parts(std::string name, std::string doc, std::vector<std::string> python) {
  return {.name = std::move(name),
          .python = std::move(python),
          .doc = std::move(doc),
          .inputs = {"data", "gamma", "beta", "moving_mean", "moving_var"},
          .output_count = [](const A& a) -> size_t { return a.output_mean_var ? 3 : 1; },
          .counted_outputs = always(3),
          .array_names = {.outputs = {"output", "mean", "var"},
                          .initial_values = {"", "", "", R"(["zero", {}])", R"(["one", {}])"}},
          .mutates = 0b11000};
}

std::vector<Sample> samples() {
  const std::vector<SampleArray> images = sample_arrays({2, 3, 2, 2});
  return {Sample(images), Sample(images, make_attrs(BatchNormAttrs{.fix_gamma = false, .output_mean_var = true}))};
}

OpDef user_op(std::string name, std::vector<std::string> aliases, std::vector<std::string> python,
              const char* activation) {
  using A = BatchNormAttrs;
  auto parts = user_parts<A>(std::move(name), kDoc, std::move(python));
  if (*activation) {
    parts.doc += "\n\nNegative results become 0.";
    parts.counted_outputs = always(4);
  }
  parts.aliases = std::move(aliases);
  parts.complete = [](Completion& c, const A& a) { complete(c, a.axis); };
  parts.compose = [activation](std::span<const NDArray> in, const A& a) {
    return batch_norm(in, a, a.axis, activation, a.output_mean_var ? 3 : 1);
  };
  parts.samples = samples();
  return general<A>(std::move(parts));
}

bool shares_statistics(const SyncBatchNormAttrs& a) {
  return a.ndev > 1 && !a.use_global_stats && thread_state().training;
}

std::vector<NDArray> sync_batch_norm(std::span<const NDArray> in, const SyncBatchNormAttrs& a) {
  check(a.ndev >= 1, ErrorKind::kValue, "SyncBatchNorm: ndev is a number of devices, got {}", a.ndev);
  const bool is_abstract = !in[0].view()->storage();  // then the types of results are asked for
  if (!shares_statistics(a) || is_abstract) return batch_norm(in, a, 1, "", 3);
  return sync_batch_norm_train(in, {a.eps, a.momentum, a.fix_gamma, a.ndev, a.key});
}

OpDef sync_batch_norm_op() {
  using A = SyncBatchNormAttrs;
  auto parts = user_parts<A>("_contrib_SyncBatchNorm", kDoc, {"nd.contrib.SyncBatchNorm"});
  parts.doc += R"(

The statistics are those of the data on ndev devices: each of them calls the layer, with a key that no other layer has, on
arrays of its own, before a result of one of them is read; backward likewise. What the last of them brings all of them
have waited for. On one device it is batch normalisation. output_mean_var adds the mean and the variance. Results carry an
MXNetError when a device fails, or has not called the layer after a minute.)";
  parts.complete = [](Completion& c, const A&) { complete(c, 1); };
  parts.compose = [](std::span<const NDArray> in, const A& a) {
    std::vector<NDArray> results = sync_batch_norm(in, a);
    results.resize(a.output_mean_var ? 3 : 1);
    if (a.output_mean_var) {  // not the inverse of the deviation, as the others give it
      const NDArray variance = call("_rdiv_scalar", {call("square", {results[2]})}, {{"scalar", 1.0}});
      results[2] = variance - a.eps;
    }
    return results;
  };
  parts.meets_devices = shares_statistics;
  parts.samples = {Sample(sample_arrays({2, 3, 2, 2}), make_attrs(A{.fix_gamma = false, .key = "layer"}))};
  return general<A>(std::move(parts));
}

}  // namespace

void infer_batch_norm_again(Infer& infer, int64_t axis) {
  const Shape& data = infer.shape(0);
  expect_floats(infer, 0);
  for (size_t k = 1; k < 5; ++k)
    expect_type(infer, k, Shape{data[static_cast<size_t>(axis)]}, dtype_of_parameters(infer.dtype(0)));
  infer.output(data, infer.dtype(0), strides_like(data, infer.strides(0), axis));
  infer.cost(200 + static_cast<double>(infer.size(0)) * 0.3);
}

Operators batch_norm_operators() {
  OpDef plain = user_op("BatchNorm", {"_npx_batch_norm", "BatchNorm_v1", "CuDNNBatchNorm"},
                        {"nd.BatchNorm", "nd.BatchNorm_v1", "nd.CuDNNBatchNorm", "npx.batch_norm"}, "");
  plain.quantization = quantization({.becomes = "_contrib_quantized_batch_norm",
                                     .where = [](const BatchNormAttrs& a) { return !a.output_mean_var; },
                                     .keeps_input = [](const BatchNormAttrs&, size_t i, size_t) { return i > 0; }});
  return {std::move(plain),       user_op("_contrib_BatchNormWithReLU", {}, {"nd.contrib.BatchNormWithReLU"}, "relu"),
          sync_batch_norm_op(),   sync_batch_norm_apply(),
          training_core(),        affine_of_statistics(),
          predicting_core(),      batch_core_backward(),
          with_known_statistics()};
}

}  // namespace headrace
