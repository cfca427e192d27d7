// Convolutions whose windows move every element by an offset of its own: columns of what they see, times the weight.

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/convolution/image.h"
#include "ops/families.h"
#include "ops/spatial/bounds.h"
#include "ops/spatial/deformable_columns.h"

namespace headrace {
namespace {

struct DeformableAttrs {
  Shape kernel, stride, dilate, pad;
  int64_t num_filter = 0, num_group = 1, num_deformable_group = 1, workspace = 1024;
  bool no_bias = false;
  Layout layout = {};
  static constexpr auto kFields = fields(
      field(&DeformableAttrs::kernel, "kernel", "Extent of the window: (h, w).").required(),
      field(&DeformableAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&DeformableAttrs::dilate, "dilate", "Step between the window's elements per axis; () is 1 everywhere."),
      field(&DeformableAttrs::pad, "pad", "Rows and columns added at both ends of each axis; () is none."),
      field(&DeformableAttrs::num_filter, "num_filter", "Number of output channels.").required().between(1, kMostInt),
      field(&DeformableAttrs::num_group, "num_group", "Number of groups into which the channels are split.")
          .between(1, kMostInt),
      field(&DeformableAttrs::num_deformable_group, "num_deformable_group",
            "Number of groups of channels with offsets of their own.")
          .between(1, kMostInt),
      field(&DeformableAttrs::workspace, "workspace", "Ignored; symbol files carry it."),
      field(&DeformableAttrs::no_bias, "no_bias", "Whether there is no bias."),
      field(&DeformableAttrs::layout, "layout", "Order of the axes: NCHW.").one_of("NCW|NCHW|NCDHW"));
};

struct ModulatedAttrs {
  Shape kernel, stride, dilate, pad;
  int64_t num_filter = 0, num_group = 1, num_deformable_group = 1, workspace = 1024;
  bool no_bias = false;
  int64_t im2col_step = 64;
  Layout layout = {};
  static constexpr auto kFields = fields(
      field(&ModulatedAttrs::kernel, "kernel", "Extent of the window: (h, w).").required(),
      field(&ModulatedAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&ModulatedAttrs::dilate, "dilate", "Step between the window's elements per axis; () is 1 everywhere."),
      field(&ModulatedAttrs::pad, "pad", "Rows and columns added at both ends of each axis; () is none."),
      field(&ModulatedAttrs::num_filter, "num_filter", "Number of output channels.").required().between(1, kMostInt),
      field(&ModulatedAttrs::num_group, "num_group", "Number of groups into which the channels are split.")
          .between(1, kMostInt),
      field(&ModulatedAttrs::num_deformable_group, "num_deformable_group",
            "Number of groups of channels with offsets of their own.")
          .between(1, kMostInt),
      field(&ModulatedAttrs::workspace, "workspace", "Ignored; symbol files carry it."),
      field(&ModulatedAttrs::no_bias, "no_bias", "Whether there is no bias."),
      field(&ModulatedAttrs::im2col_step, "im2col_step", "Ignored; symbol files carry it."),
      field(&ModulatedAttrs::layout, "layout", "Order of the axes: NCHW.").one_of("NCW|NCHW|NCDHW"));
};

template <class A>
constexpr bool kIsModulated = std::is_same_v<A, ModulatedAttrs>;

// The number of the weight among the inputs; the bias follows it.
template <class A>
constexpr size_t kWeight = kIsModulated<A> ? 3 : 2;

template <class A>
DeformableWindow window_of(const char* name, const A& a) {
  check(a.kernel.size() == 2 && (!a.layout || *a.layout == "NCHW"), ErrorKind::kRuntime,
        "{}: only images are convolved, layout NCHW: expected a kernel (h, w), got {}", name, to_string(a.kernel));
  require_from(name, "num_filter", a.num_filter, 1);
  require_from(name, "num_group", a.num_group, 1);
  require_from(name, "num_deformable_group", a.num_deformable_group, 1);
  return {.kernel = per_axis(name, "kernel", a.kernel, 2, 1, 1),
          .stride = per_axis(name, "stride", a.stride, 2, 1, 1),
          .dilate = per_axis(name, "dilate", a.dilate, 2, 1, 1),
          .pad = per_axis(name, "pad", a.pad, 2, 0, 0),
          .groups = a.num_deformable_group};
}

template <class A>
Shape weight_shape(const A& a, int64_t channels) {
  return {a.num_filter, channels / a.num_group, a.kernel[0], a.kernel[1]};
}

// Raises unless all arrays are there and fit the data.
template <class A>
void check_arrays(const char* name, std::span<const NDArray> in, const A& a) {
  const size_t count = kWeight<A> + (a.no_bias ? 1 : 2);
  check(in.size() == count, ErrorKind::kType, "{}: {} arrays are needed with no_bias={}, got {}", name, count,
        a.no_bias ? "True" : "False", in.size());
  const Shape& data = in[0].shape();
  check(data.size() == 4, ErrorKind::kRuntime, "{}: data must have 4 axes (batch, channels, height, width), got {}",
        name, to_string(data));
  check(data[1] % a.num_group == 0 && a.num_filter % a.num_group == 0, ErrorKind::kRuntime,
        "{}: num_group must divide the channels of data and num_filter: {} groups of {} and {}", name, a.num_group,
        data[1], a.num_filter);
  const auto expect = [&](size_t k, const char* what, const Shape& shape) {
    check(in[k].shape() == shape && in[k].dtype() == in[0].dtype(), ErrorKind::kRuntime,
          "{}: expected {} {} of shape {} for data of shape {}, got {} {}", name, dtype_name(in[0].dtype()), what,
          to_string(shape), to_string(data), dtype_name(in[k].dtype()), to_string(in[k].shape()));
  };
  expect(kWeight<A>, "weight", weight_shape(a, data[1]));
  if (!a.no_bias) expect(kWeight<A> + 1, "bias", Shape{a.num_filter});
}

NDArray reshaped(const NDArray& x, const Shape& shape) { return call("_reshape_to", {x}, {{"shape", shape}}); }

template <class A>
std::vector<NDArray> convolve(const char* name, std::span<const NDArray> in, const A& a) {
  const DeformableWindow window = window_of(name, a);
  check_arrays(name, in, a);
  const Shape& data = in[0].shape();
  const Shape windows = deformable_windows(name, window, data[2], data[3]);
  const int64_t depth = data[1] / a.num_group * window.elements(), filters = a.num_filter / a.num_group;
  const NDArray columns = invoke_all(find_op("_deformable_columns"), make_attrs(window), in.subspan(0, kWeight<A>))[0];
  const NDArray products =
      call("_npi_matmul", {reshaped(in[kWeight<A>], {a.num_group, filters, depth}),
                           reshaped(columns, {data[0], a.num_group, depth, windows[0] * windows[1]})});
  const NDArray result = reshaped(products, {data[0], a.num_filter, windows[0], windows[1]});
  if (a.no_bias) return {result};
  return {result + reshaped(in[kWeight<A> + 1], {1, a.num_filter, 1, 1})};
}

template <class A>
void complete(Completion& c, const A& a) {
  if (!c.has_rank(0) || c.shape(0).size() != 4 || c.shape(0)[1] < 0 || a.kernel.size() != 2 || a.num_group < 1) return;
  c.set(kWeight<A>, weight_shape(a, c.shape(0)[1]));
  if (!a.no_bias) c.set(kWeight<A> + 1, Shape{a.num_filter});
}

template <class A>
OpDef convolution(OpDef op) {
  op.optional_inputs = 1;
  op.input_count = [](const A& a) -> size_t { return kWeight<A> + (a.no_bias ? 1 : 2); };
  op.complete = complete<A>;
  op.compose = [](std::span<const NDArray> in, const A& a) {
    return convolve(kIsModulated<A> ? "ModulatedDeformableConvolution" : "DeformableConvolution", in, a);
  };
  return general<A>(std::move(op));
}

OpDef deformable_convolution() {
  using A = DeformableAttrs;
  return convolution<A>(
      {.name = "_contrib_DeformableConvolution",
       .python = {"nd.contrib.DeformableConvolution"},
       .doc = "Convolution of images (batch, channels, height, width) whose windows move element e by offset[:, 2e] "
              "rows and offset[:, 2e + 1] columns and read there by linear interpolation; offset has shape (batch, "
              "num_deformable_group * 2 * elements of the kernel, rows, columns), as many rows and columns as the "
              "result. Outside the images there are zeros; between the last element and the border the images go on "
              "as they are there. Raises MXNetError when attributes, shapes or dtypes do not fit.",
       .inputs = {"data", "offset", "weight", "bias"},
       .samples = {{{uniform({2, 4, 3, 5}), uniform({2, 16, 3, 5}, -0.45, 0.45), uniform({4, 2, 2, 2}), uniform({4})},
                    make_attrs(A{.kernel = {2, 2},
                                 .dilate = {2, 2},
                                 .pad = {1, 1},
                                 .num_filter = 4,
                                 .num_group = 2,
                                 .num_deformable_group = 2})},
                   {{uniform({1, 2, 4, 4}), uniform({1, 18, 1, 1}, -0.45, 0.45), uniform({1, 2, 3, 3})},
                    make_attrs(A{.kernel = {3, 3}, .stride = {2, 2}, .num_filter = 1, .no_bias = true})}}});
}

OpDef modulated_convolution() {
  using A = ModulatedAttrs;
  return convolution<A>(
      {.name = "_contrib_ModulatedDeformableConvolution",
       .python = {"nd.contrib.ModulatedDeformableConvolution"},
       .doc = "DeformableConvolution that multiplies what element e of a window sees by mask[:, e]; mask has shape "
              "(batch, num_deformable_group * elements of the kernel, rows, columns). The images end in zeros at every "
              "border. Raises MXNetError when attributes, shapes or dtypes do not fit.",
       .inputs = {"data", "offset", "mask", "weight", "bias"},
       .samples = {
           {{uniform({2, 2, 3, 4}), uniform({2, 8, 2, 3}), uniform({2, 4, 2, 3}), uniform({3, 2, 2, 2}), uniform({3})},
            make_attrs(A{.kernel = {2, 2}, .num_filter = 3})}}});
}

}  // namespace

Operators deformable_operators() {
  Operators operators = deformable_column_operators();
  operators.push_back(deformable_convolution());
  operators.push_back(modulated_convolution());
  return operators;
}

}  // namespace headrace
