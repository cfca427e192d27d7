// The attributes and the kernel of convolutions. Convolution, Deconvolution, their gradients and the fused forms are
// the three passes of one problem:
//   out[n, o, y] = sum over i, k of data[n, i, y * stride - pad + k * dilate] * weight[o, i, k]
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/rule.h"
#include "ops/convolution/image.h"

namespace headrace {

struct ConvolutionAttrs {
  Shape kernel, stride, dilate, pad;
  int64_t num_filter = 0, num_group = 1, workspace = 1024;
  bool no_bias = false;
  std::optional<std::string> cudnn_tune = {};
  bool cudnn_off = false;
  Layout layout = {};
  static constexpr auto kFields = fields(
      field(&ConvolutionAttrs::kernel, "kernel", "Extent of the window: (w,), (h, w) or (d, h, w).").required(),
      field(&ConvolutionAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&ConvolutionAttrs::dilate, "dilate", "Step between the window's elements per axis; () is 1 everywhere."),
      field(&ConvolutionAttrs::pad, "pad", "Zeros at both ends of each axis; () is none."),
      field(&ConvolutionAttrs::num_filter, "num_filter", "Number of output channels.").required().between(1, kMostInt),
      field(&ConvolutionAttrs::num_group, "num_group", "Number of groups into which the channels are split."),
      field(&ConvolutionAttrs::workspace, "workspace", "Ignored; symbol files carry it."),
      field(&ConvolutionAttrs::no_bias, "no_bias", "Whether there is no bias."),
      field(&ConvolutionAttrs::cudnn_tune, "cudnn_tune", "Ignored; symbol files carry it."),
      field(&ConvolutionAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."),
      field(&ConvolutionAttrs::layout, "layout",
            "Order of the axes of data and result; None has channels second. With channels last, weight is "
            "(num_filter, *kernel, channels / num_group).")
          .one_of("NCW|NWC|NCHW|NHWC|NCDHW|NDHWC"));
};

struct DeconvolutionAttrs {
  Shape kernel, stride, dilate, pad, adj, target_shape;
  int64_t num_filter = 0, num_group = 1, workspace = 512;
  bool no_bias = true;
  std::optional<std::string> cudnn_tune = {};
  bool cudnn_off = false;
  Layout layout = {};
  static constexpr auto kFields = fields(
      field(&DeconvolutionAttrs::kernel, "kernel", "Extent of the window: (w,), (h, w) or (d, h, w).").required(),
      field(&DeconvolutionAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&DeconvolutionAttrs::dilate, "dilate", "Step between the window's elements per axis; () is 1 everywhere."),
      field(&DeconvolutionAttrs::pad, "pad", "Elements cut off at both ends of each axis of the result; () is none."),
      field(&DeconvolutionAttrs::adj, "adj", "Elements added at the end of each axis of the result; () is none."),
      field(&DeconvolutionAttrs::target_shape, "target_shape",
            "Spatial extents of the result, from which pad and adj follow; () or zeros: they are as given."),
      field(&DeconvolutionAttrs::num_filter, "num_filter", "Number of output channels.")
          .required()
          .between(1, kMostInt),
      field(&DeconvolutionAttrs::num_group, "num_group", "Number of groups into which the channels are split."),
      field(&DeconvolutionAttrs::workspace, "workspace", "Ignored; symbol files carry it."),
      field(&DeconvolutionAttrs::no_bias, "no_bias", "Whether there is no bias."),
      field(&DeconvolutionAttrs::cudnn_tune, "cudnn_tune", "Ignored; symbol files carry it."),
      field(&DeconvolutionAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."),
      field(&DeconvolutionAttrs::layout, "layout",
            "Order of the axes of data and result; None has channels second. With channels last, weight is "
            "(channels, *kernel, num_filter / num_group).")
          .one_of("NCW|NWC|NCHW|NHWC|NCDHW|NDHWC"));
};

// Places at which windows stand along one axis, one after another.
struct WindowRange {
  int64_t begin, end;
  int64_t size() const noexcept { return end - begin; }
};

// The window, with one number per spatial axis.
struct Window {
  Shape kernel, stride, dilate, pad;
  int64_t groups = 1;
  bool channels_last = false;

  size_t spatial() const noexcept { return kernel.size(); }
  // From the first to the last element that the window touches.
  int64_t span(size_t i) const noexcept { return dilate[i] * (kernel[i] - 1) + 1; }
  // Of `places` along an axis those at which this element of the window lies inside an image of `extent`.
  WindowRange inside(size_t i, int64_t element, int64_t extent, int64_t places) const noexcept;
};

// Raises MXNetError for attributes that make no window.
Window window_of(const char* name, const ConvolutionAttrs& a);
Window window_of(const char* name, const DeconvolutionAttrs& a);

enum class ConvolutionPass : uint8_t { kForward, kData, kWeight };

struct ConvolutionProblem {
  ConvolutionPass pass = ConvolutionPass::kForward;
  const Window& window;
  Image data, weight, out;  // (n, c, ...), (o, c / groups, ...), (n, o, ...); the one that `pass` names is written
  // One number per channel, packed. kForward and kData: added to the result. kWeight: the sums of out, written.
  void* bias = nullptr;
  // Of kForward: what is done with the result, in this order.
  struct After {
    const void *scale = nullptr, *shift = nullptr;  // float32, one per channel: result * scale + shift
    std::optional<Image> sum = {};                  // added
    bool relu = false;

    bool any() const noexcept { return scale || sum || relu; }
  };
  After after = {};

  DType dtype() const noexcept { return data.dtype; }
  // Zeros at the end of an axis, negative where the window never gets to the last elements.
  int64_t pad_end(size_t i) const noexcept {
    return (out.shape[i + 2] - 1) * window.stride[i] + window.span(i) - data.shape[i + 2] - window.pad[i];
  }
};

// Estimated nanoseconds on one core; shapes have channels second.
double convolution_cost(DType dtype, const Shape& weight, const Shape& out);
// For rules: the operation is such a convolution, or a gradient of it.
void set_convolution_cost(Infer& infer, const Shape& weight, const Shape& out, int passes);

// Runs on the thread of a task. Leaves all work to convolution_part.
void convolve(KernelContext& context, const ConvolutionProblem& problem);
extern const KernelPartOf<void(KernelContext& context, const ConvolutionProblem& problem)> convolution_part;

}  // namespace headrace
