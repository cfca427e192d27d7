// Output layers of symbolic networks: forward a prediction, backward the gradient of a loss that they imply, whatever
// the gradient of the result.

#include "ops/nn/outputs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/nn/hinge.h"

namespace headrace {
namespace {

struct SoftmaxOutputAttrs {
  double grad_scale = 1, ignore_label = -1;
  bool multi_output = false, use_ignore = false, preserve_shape = false;
  std::string normalization = "null";
  bool out_grad = false;
  double smooth_alpha = 0;
  static constexpr auto kFields = fields(
      field(&SoftmaxOutputAttrs::grad_scale, "grad_scale", "Factor of the gradient."),
      field(&SoftmaxOutputAttrs::ignore_label, "ignore_label", "With use_ignore: rows of this label have no gradient."),
      field(&SoftmaxOutputAttrs::multi_output, "multi_output",
            "Whether classes are along axis 1, others being places."),
      field(&SoftmaxOutputAttrs::use_ignore, "use_ignore", "Whether ignore_label counts."),
      field(&SoftmaxOutputAttrs::preserve_shape, "preserve_shape", "Whether classes are along the last axis."),
      field(&SoftmaxOutputAttrs::normalization, "normalization",
            "What the gradient is divided by: nothing, the number of labels, or of those that are not ignore_label.")
          .one_of("batch|null|valid"),
      field(&SoftmaxOutputAttrs::out_grad, "out_grad", "Whether to multiply by the gradient of the result."),
      field(&SoftmaxOutputAttrs::smooth_alpha, "smooth_alpha", "Probability that labels give to the other classes.")
          .between(0, 1));
};

// Which axis of the data holds the classes; `rows_of` gives the data under the shape in which it does.
int64_t class_axis(const SoftmaxOutputAttrs& a, const Shape& data) {
  return a.multi_output || !a.preserve_shape ? 1 : static_cast<int64_t>(data.size()) - 1;
}

NDArray shaped(const NDArray& x, const Shape& shape) {
  return x.shape() == shape ? x : call("_reshape_to", {x}, {{"shape", shape}});
}

// Data whose classes are all that is not the batch.
Shape flat_shape(const Shape& data) {
  int64_t rest = 1;
  for (size_t k = 1; k < data.size(); ++k) rest *= data[k];
  return {data[0], rest};
}

bool is_flat(const SoftmaxOutputAttrs& a) { return !a.multi_output && !a.preserve_shape; }

// The label's shapes that fit; the first is what an unknown label gets. Flat data of more than two axes have, as in
// MXNet, labels for more rows than there are: the first count.
std::vector<Shape> label_shapes(const SoftmaxOutputAttrs& a, const Shape& data) {
  if (is_flat(a)) return {Shape(data.begin(), data.end() - 1), Shape{data[0]}, data};
  Shape without = data;
  without.erase(static_cast<size_t>(class_axis(a, data)));
  if (!a.multi_output) return {without, data};
  Shape single = data;
  single[1] = 1;
  return {flat_shape(without), without, single, data};
}

// Of classes, unless its rank is known and is another.
Shape likely_label(const Completion& c, const SoftmaxOutputAttrs& a) {
  const std::vector<Shape> fitting = label_shapes(a, c.shape(0));
  const auto found = std::ranges::find_if(
      fitting, [&](const Shape& shape) { return c.has_rank(1) && shape.size() == c.shape(1).size(); });
  return found == fitting.end() ? fitting[0] : *found;
}

void check_softmax_output(std::span<const NDArray> in, const SoftmaxOutputAttrs& a) {
  const Shape &data = in[0].shape(), &label = in[1].shape();
  const size_t least = a.preserve_shape && !a.multi_output ? 1 : 2;
  check(data.size() >= least, ErrorKind::kRuntime, "SoftmaxOutput: data must have at least {} dimensions, got shape {}",
        least, to_string(data));
  check(is_floating(in[0].dtype()), ErrorKind::kType, "SoftmaxOutput: data must hold floats, got {}",
        dtype_name(in[0].dtype()));
  const std::vector<Shape> fitting = label_shapes(a, data);
  check(std::ranges::find(fitting, label) != fitting.end(), ErrorKind::kRuntime,
        "SoftmaxOutput: label must have shape {}, or that of data {} for probabilities, got {}", to_string(fitting[0]),
        to_string(data), to_string(label));
}

std::vector<NDArray> softmax_output(std::span<const NDArray> in, const SoftmaxOutputAttrs& a) {
  check_softmax_output(in, a);
  const Shape& shape = in[0].shape();
  NDArray data = is_flat(a) ? shaped(in[0], flat_shape(shape)) : in[0];
  return {shaped(call("softmax", {data}, {{"axis", class_axis(a, data.shape())}}), shape)};
}

void softmax_output_gradient(Gradient& g, const SoftmaxOutputAttrs& a) {
  const NDArray &y = g.output(), &label = g.input(1);
  NDArray dx;
  if (label.shape() == y.shape()) {
    dx = y - cast_to(label, y.dtype());
    dx = dx * a.grad_scale;
  } else {
    static const OpDef& backward = find_op("_backward_SoftmaxOutput");
    NDArray rows = is_flat(a) ? shaped(y, flat_shape(y.shape())) : y;
    dx = shaped(call(backward, g.attrs(), {rows, label}), y.shape());
  }
  if (a.out_grad) dx = dx * g.head();
  g.set(0, dx);
  if (g.wants(1)) g.set(1, zeros_like(label));
}

std::vector<double> labels_of(const Tensor& tensor) {
  std::vector<double> labels(static_cast<size_t>(tensor.size));
  load_function(tensor.dtype, ComputeType::kFloat64)(labels.data(), tensor.data, 1, tensor.size);
  return labels;
}

// Floats with classes along `axis`, and a label for every row of them; further labels do not count.
void require_labels(const Infer& i, int64_t axis) {
  const Shape& shape = i.shape(0);
  expect_floats(i, 0);
  i.require(axis >= 0 && axis < static_cast<int64_t>(shape.size()), ErrorKind::kRuntime,
            "classes along axis {} are needed, got shape {}", axis, to_string(shape));
  Shape rows = shape;
  rows.erase(static_cast<size_t>(axis));
  i.require(i.size(1) >= element_count(rows), ErrorKind::kRuntime, "{} labels are needed for shape {}, got shape {}",
            element_count(rows), to_string(shape), to_string(i.shape(1)));
}

// Calls f(row of x, row of dx, n, label) for all rows along `axis`, in float or double.
template <class F>
void for_labelled_rows(KernelContext& c, const AxisSpace& space, const std::vector<double>& labels, F&& f) {
  const bool wide = c.input(0).dtype == DType::kFloat64;
  const auto run = [&]<class T>(T) {
    for_each_row(space, {&c.input(0), 1}, {&c.output(0), 1}, wide ? ComputeType::kFloat64 : ComputeType::kFloat32,
                 static_cast<double>(c.output(0).size) * 0.5, [&](const RowCall& row) {
                   f(row.in<T>(0), row.out<T>(), space.length, labels[static_cast<size_t>(row.row)]);
                 });
  };
  if (wide)
    run(double{});
  else
    run(float{});
}

void labelled_on_host(KernelContext& c, const AxisSpace& space, const LabelledSoftmax& loss) {
  const std::vector<double> labels = labels_of(c.input(1));
  const auto counts = [&](double label) { return std::trunc(label) != std::trunc(loss.ignored); };
  double scale = loss.scale;
  if (loss.divides_by_labels) scale /= static_cast<double>(std::max<int64_t>(std::ranges::count_if(labels, counts), 1));
  for_labelled_rows(c, space, labels, [&]<class T>(const T* y, T* dx, int64_t n, double label) {
    if (loss.ignores && !counts(label)) {
      std::fill_n(dx, n, T{0});
      return;
    }
    const T factor = static_cast<T>(scale),
            others = static_cast<T>(n > 1 ? loss.smoothing / static_cast<double>(n - 1) : 0);
    for (int64_t i = 0; i < n; ++i) dx[i] = (y[i] - others) * factor;
    if (label > -1 && label < static_cast<double>(n)) {
      const auto k = static_cast<int64_t>(label);
      dx[k] = (y[k] - 1 + static_cast<T>(loss.smoothing)) * factor;
    }
  });
}

void softmax_output_backward(KernelContext& c, const SoftmaxOutputAttrs& a) {
  const Shape& shape = c.input(0).shape;
  const AxisSpace space = AxisSpace::along(shape, class_axis(a, shape));
  const bool by_labels = a.normalization == "valid";
  double scale = a.grad_scale;
  if (a.multi_output && !by_labels) scale /= static_cast<double>(space.inner);
  if (a.normalization == "batch") scale /= static_cast<double>(a.multi_output ? space.outer : c.input(1).size);
  labelled_softmax_gradient(c, space, {scale, by_labels, a.use_ignore, a.ignore_label, a.smooth_alpha});
}

OpDef softmax_output_operator() {
  using A = SoftmaxOutputAttrs;
  return general<A>(
      {.name = "SoftmaxOutput",
       .aliases = {"Softmax"},
       .python = {"nd.SoftmaxOutput", "nd.Softmax"},
       .doc =
           R"(Softmax whose gradient is that of the cross entropy with `label`: softmax minus the label's one-hot row.

Classes are all that is not the batch, axis 1 with multi_output, or the last axis with preserve_shape. A label of the shape
of data holds probabilities. The gradient of the result is ignored unless out_grad. Raises MXNetError when shapes do not
fit.)",
       .inputs = {"data", "label"},
       .complete =
           [](Completion& c, const A& a) {
             c.set_equal(0);
             if (c.is_known(0) && !c.is_known(1) && !c.shape(0).empty()) c.set(1, likely_label(c, a));
           },
       .compose = softmax_output,
       .gradient = softmax_output_gradient,
       .own_gradient = true,
       .starts_gradient = true,
       .saves_inputs = 0b10,
       .saves_outputs = 1,
       .samples = {Sample({uniform({3, 4}), integers({3}, 0, 4)}),
                   Sample({uniform({2, 3, 4}), integers({2, 4}, -1, 3)},
                          make_attrs(A{.multi_output = true, .use_ignore = true, .normalization = "valid"})),
                   Sample({uniform({2, 3, 4}), uniform({2, 3, 4}, 0, 1)},
                          make_attrs(A{.preserve_shape = true, .out_grad = true}))}});
}

OpDef softmax_output_backward_operator() {
  using A = SoftmaxOutputAttrs;
  return general<A>({.name = "_backward_SoftmaxOutput",
                     .doc = "Gradient of SoftmaxOutput with respect to its data.",
                     .inputs = {"result", "label"},
                     .infer =
                         [](Infer& i, const A& a) {
                           require_labels(i, class_axis(a, i.shape(0)));
                           i.output(i.shape(0), i.dtype(0));
                           i.cost(100 + static_cast<double>(i.size(0)) * 0.5);
                         },
                     .kernel = softmax_output_backward,
                     .samples = {Sample({uniform({3, 4}, 0, 1), integers({3}, -1, 4)},
                                        make_attrs(A{.normalization = "batch", .smooth_alpha = 0.1})),
                                 Sample({uniform({2, 3, 4}, 0, 1), integers({2, 4}, -1, 3)},
                                        make_attrs(A{.multi_output = true, .use_ignore = true}))}});
}

// --- regression ------------------------------------------------------------------------------------------------------

struct RegressionAttrs {
  double grad_scale = 1;
  static constexpr auto kFields = fields(field(&RegressionAttrs::grad_scale, "grad_scale", "Factor of the gradient."));
};

OpDef regression(std::string name, std::string forward, bool by_sign, const char* doc) {
  using A = RegressionAttrs;
  return general<A>(
      {.name = name,
       .python = {"nd." + name},
       .doc = std::string(doc) +
              ", times grad_scale and divided by the number of outputs per instance, whatever the gradient of the "
              "result. Raises MXNetError unless label has as many elements as data, and as many instances.",
       .inputs = {"data", "label"},
       .complete =
           [](Completion& c, const A&) {
             if (!c.is_known(0) || c.is_known(1)) return;
             const Shape& data = c.shape(0);
             c.set(1, data.size() == 2 && data[1] == 1 ? Shape{data[0]} : data);
           },
       .compose = [name, forward](std::span<const NDArray> in, const A&) -> std::vector<NDArray> {
         const Shape &data = in[0].shape(), &label = in[1].shape();
         check(in[0].size() == in[1].size() && data.empty() == label.empty() && (data.empty() || data[0] == label[0]),
               ErrorKind::kRuntime, "{}: label must have the shape of data {}, got {}", name, to_string(data),
               to_string(label));
         return {call(forward, {in[0]})};
       },
       .gradient =
           [by_sign](Gradient& g, const A& a) {
             const NDArray &y = g.output(), &label = g.input(1);
             const int64_t instances = y.ndim() == 0 ? 1 : y.shape()[0];
             const double outputs = instances == 0 ? 1 : static_cast<double>(y.size() / instances);
             NDArray dx = y - shaped(cast_to(label, y.dtype()), y.shape());
             if (by_sign) dx = call("sign", {dx});
             g.set(0, dx * (a.grad_scale / std::max(outputs, 1.0)));
             if (g.wants(1)) g.set(1, zeros_like(label));
           },
       .own_gradient = true,
       .starts_gradient = true,
       .saves_inputs = 0b10,
       .saves_outputs = 1,
       .samples = {Sample({uniform({2, 3}), uniform({2, 3})}, make_attrs(A{.grad_scale = 2})),
                   Sample({uniform({3, 1}), uniform({3})})}});
}

// --- support vector machine ------------------------------------------------------------------------------------------

struct SvmAttrs {
  double margin = 1, regularization_coefficient = 1;
  bool use_linear = false;
  static constexpr auto kFields = fields(
      field(&SvmAttrs::margin, "margin", "By how much a score must be on the right side of 0."),
      field(&SvmAttrs::regularization_coefficient, "regularization_coefficient", "Factor of the gradient."),
      field(&SvmAttrs::use_linear, "use_linear", "Whether the loss is the hinge itself rather than its square."));
};

void hinge_on_host(KernelContext& c, const AxisSpace& space, const HingeLoss& loss) {
  for_labelled_rows(c, space, labels_of(c.input(1)), [&]<class T>(const T* x, T* dx, int64_t n, double label) {
    for (int64_t i = 0; i < n; ++i)
      dx[i] = hinge_slope(x[i], static_cast<double>(i) == std::trunc(label), static_cast<T>(loss.margin),
                          static_cast<T>(loss.factor), loss.is_linear);
  });
}

std::vector<Sample> svm_samples() {
  return {Sample({uniform({3, 4}), integers({3}, 0, 4)}),
          Sample({uniform({2, 3}), values({0, 2}, DType::kInt32)},
                 make_attrs(SvmAttrs{.margin = 0.5, .regularization_coefficient = 2, .use_linear = true}))};
}

// One class for each place of the scores, which lie along the last axis.
Shape label_shape(Shape scores) {
  scores.pop_back();
  return scores;
}

OpDef svm_output() {
  using A = SvmAttrs;
  return general<A>(
      {.name = "SVMOutput",
       .python = {"nd.SVMOutput"},
       .doc = "A copy of the scores (batch, ..., classes) whose gradient is that of the multi-class hinge loss with "
              "`label` (batch, ...), squared unless use_linear, whatever the gradient of the result. Raises MXNetError "
              "when shapes do not fit.",
       .inputs = {"data", "label"},
       .complete =
           [](Completion& c, const A&) {
             if (c.is_known(0) && !c.shape(0).empty()) c.set(1, label_shape(c.shape(0)));
           },
       .compose = [](std::span<const NDArray> in, const A&) -> std::vector<NDArray> {
         const Shape &data = in[0].shape(), &label = in[1].shape();
         check(data.size() >= 2 && label == label_shape(data) && is_floating(in[0].dtype()), ErrorKind::kRuntime,
               "SVMOutput: expected scores (batch, ..., classes) of floats and label (batch, ...), got {} {} and {}",
               dtype_name(in[0].dtype()), to_string(data), to_string(label));
         return {call("_copy", {in[0]})};
       },
       .gradient =
           [](Gradient& g, const A&) {
             static const OpDef& backward = find_op("_backward_SVMOutput");
             const Shape& shape = g.input(0).shape();
             const int64_t count = element_count(label_shape(shape));
             const NDArray rows = shaped(g.input(0), {count, shape.back()});
             g.set(0, shaped(call(backward, g.attrs(), {rows, shaped(g.input(1), {count})}), shape));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .own_gradient = true,
       .starts_gradient = true,
       .samples = svm_samples()});
}

OpDef svm_backward_operator() {
  using A = SvmAttrs;
  return general<A>({.name = "_backward_SVMOutput",
                     .doc = "Gradient of SVMOutput with respect to its data.",
                     .inputs = {"data", "label"},
                     .infer =
                         [](Infer& i, const A&) {
                           require_labels(i, 1);
                           i.output(i.shape(0), i.dtype(0));
                         },
                     .kernel =
                         [](KernelContext& c, const A& a) {
                           hinge_gradient(c, AxisSpace::along(c.input(0).shape, 1),
                                          {a.margin, a.regularization_coefficient, a.use_linear});
                         },
                     .samples = svm_samples()});
}

}  // namespace

const decltype(labelled_softmax_gradient) labelled_softmax_gradient{"labelled_softmax_gradient", labelled_on_host};
const decltype(hinge_gradient) hinge_gradient{"hinge_gradient", hinge_on_host};

Operators output_operators() {
  return {
      softmax_output_operator(),
      softmax_output_backward_operator(),
      regression("LinearRegressionOutput", "_copy", false, "A copy of the data whose gradient is data - label"),
      regression("LogisticRegressionOutput", "sigmoid", false, "sigmoid(data), whose gradient is the result - label"),
      regression("MAERegressionOutput", "_copy", true, "A copy of the data whose gradient is sign(data - label)"),
      svm_output(),
      svm_backward_operator()};
}

}  // namespace headrace
