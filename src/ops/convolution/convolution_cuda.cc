// Convolutions as products of matrices: what windows see is gathered into columns, a matrix in workspace. Outputs are
// seen as matrices of (image, window) by channels, which is how they lie in memory with channels last.
#include <fmt/format.h>

#include <algorithm>

#include "op/copy_part.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/convolution/convolution.cuh"
#include "ops/convolution/convolution_cuda.h"
#include "ops/convolution/window_cuda.h"
#include "ops/linalg/gemm.h"
#include "ops/reduce/reduction.h"

namespace headrace {
namespace {

constexpr int64_t kMostColumnBytes = int64_t{256} << 20;  // of workspace; more images are worked on in turns

char* at(const void* data, int64_t offset, DType dtype) {
  return static_cast<char*>(const_cast<void*>(data)) + offset * static_cast<int64_t>(item_size(dtype));
}

// One group of some of the images of a convolution.
class GroupOfImages {
 public:
  GroupOfImages(KernelContext& context, const ConvolutionProblem& p, int64_t group, int64_t first, int64_t images)
      : context_(context), p_(p), item_(item_size(p.dtype())) {
    const Window& w = p.window;
    channels_ = p.weight.shape[1];
    filters_ = p.weight.shape[0] / w.groups;
    taps_ = windows_ = 1;
    for (size_t d = 0; d < w.spatial(); ++d) {
      taps_ *= w.kernel[d];
      windows_ *= p.out.shape[d + 2];
    }
    data_ = part(p.data, first, images, group * channels_, channels_);
    out_ = part(p.out, first, images, group * filters_, filters_);
    weight_ = part(p.weight, group * filters_, filters_, 0, channels_);
    if (p.bias) bias_ = at(p.bias, group * (p.pass == ConvolutionPass::kData ? channels_ : filters_), p.dtype());
    rows_ = images * windows_;
    width_ = channels_ * taps_;
  }

  void forward() {
    void* const columns = gathered();
    const bool in_place = out_.strides == channels_last_strides(out_.shape);
    void* const result = in_place ? out_.data : scratch(rows_ * filters_);
    multiply(rows_, filters_, width_, {columns, width_, 1}, {packed_weight(), 1, width_}, result, bias_);
    if (!in_place) copy(out_.data, out_.strides, result, channels_last_strides(out_.shape), out_.shape);
  }

  void to_data() {
    void* const columns = scratch(rows_ * width_);
    multiply(rows_, width_, filters_, {out_matrix(), filters_, 1}, {packed_weight(), width_, 1}, columns, nullptr);
    run("columns_to_image<" + element_name(p_.dtype()) + (p_.dtype() == DType::kFloat64 ? ", double>" : ", float>"),
        columns, data_.size());
  }

  // Into packed memory.
  void to_weight(void* weight) {
    void* const columns = gathered();
    multiply(filters_, width_, rows_, {out_matrix(), 1, filters_}, {columns, width_, 1}, weight, nullptr);
  }

 private:
  struct Matrix {
    const void* data;
    int64_t row_stride, column_stride;
  };

  static Image part(const Image& image, int64_t first, int64_t count, int64_t channel, int64_t channels) {
    Image made = image;
    made.data = at(image.data, first * image.strides[0] + channel * image.strides[1], image.dtype);
    made.shape[0] = count;
    made.shape[1] = channels;
    return made;
  }

  void* scratch(int64_t elements) { return scratch_.take(static_cast<size_t>(elements) * item_); }
  void copy(void* to, const Strides& to_strides, const void* from, const Strides& from_strides, const Shape& shape) {
    copy_elements(context_, to, to_strides, from, from_strides, shape, p_.dtype());
  }
  void multiply(int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, void* c, const void* bias) {
    gemm(context_, {.dtype = p_.dtype(),
                    .m = m,
                    .n = n,
                    .k = k,
                    .a = {a.data, a.row_stride, a.column_stride},
                    .b = {b.data, b.row_stride, b.column_stride},
                    .c = c,
                    .bias = bias});
  }

  void run(std::string function, void* columns, int64_t elements) {
    if (elements == 0) return;
    const Window& w = p_.window;
    const bool adds = p_.pass == ConvolutionPass::kData;
    const device::ColumnArguments arguments{
        data_.data,           columns,   adds ? bias_ : nullptr,
        data_.shape[0],       channels_, device_window(data_, out_, w.kernel, w.stride, w.dilate, w.pad),
        device_strides(data_)};
    launch_cuda({"ops/convolution/convolution.cuh", std::move(function), "ColumnArguments"}, grid_of(elements),
                arguments);
  }

  void* gathered() {
    void* const columns = scratch(rows_ * width_);
    run("image_to_columns<" + element_name(p_.dtype()) + ">", columns, rows_ * width_);
    return columns;
  }

  const void* packed_weight() {
    const Strides packed = contiguous_strides(weight_.shape);
    if (weight_.strides == packed) return weight_.data;
    void* const made = scratch(weight_.size());
    copy(made, packed, weight_.data, weight_.strides, weight_.shape);
    return made;
  }

  const void* out_matrix() {
    const Strides packed = channels_last_strides(out_.shape);
    if (out_.strides == packed) return out_.data;
    void* const made = scratch(out_.size());
    copy(made, packed, out_.data, out_.strides, out_.shape);
    return made;
  }

  KernelContext& context_;
  LaunchScratch scratch_;
  const ConvolutionProblem& p_;
  const size_t item_;
  Image data_, out_, weight_;
  const void* bias_ = nullptr;
  int64_t channels_ = 0, filters_ = 0, taps_ = 1, windows_ = 1, rows_ = 0, width_ = 0;
};

int64_t images_at_once(const ConvolutionProblem& p) {
  int64_t bytes = static_cast<int64_t>(item_size(p.dtype()));
  for (size_t d = 1; d < p.weight.shape.size(); ++d) bytes *= p.weight.shape[d];
  for (size_t d = 2; d < p.out.shape.size(); ++d) bytes *= p.out.shape[d];
  return std::clamp<int64_t>(kMostColumnBytes / std::max<int64_t>(bytes, 1), 1, std::max<int64_t>(p.out.shape[0], 1));
}

const Reduction& sum() {
  static const Reduction& reduction = *new Reduction(Combine::kSum);
  return reduction;
}

// Each turn gives a weight of its own, in the memory of `parts`; then they are added.
void gradient_of_weight(KernelContext& context, const ConvolutionProblem& p) {
  const int64_t step = images_at_once(p), turns = std::max<int64_t>(1, (p.out.shape[0] + step - 1) / step);
  const int64_t size = p.weight.size(), group = size / p.window.groups;
  const bool is_packed = p.weight.strides == contiguous_strides(p.weight.shape);
  void* const parts = is_packed && turns == 1
                          ? p.weight.data
                          : context.workspace(static_cast<size_t>(turns * size) * item_size(p.dtype()));
  for (int64_t turn = 0; turn < turns; ++turn)
    for (int64_t g = 0; g < p.window.groups; ++g)
      GroupOfImages(context, p, g, turn * step, std::min(step, p.out.shape[0] - turn * step))
          .to_weight(at(parts, turn * size + g * group, p.dtype()));
  const void* whole = parts;
  if (turns > 1) {
    const Shape rows{turns, size}, one{size};
    const Strides strides{size, 1}, unit{1};
    void* const made = is_packed ? p.weight.data : context.workspace(static_cast<size_t>(size) * item_size(p.dtype()));
    sum().run(context, {parts, p.dtype(), rows, strides, turns * size}, 0b1, {made, p.dtype(), one, unit, size});
    whole = made;
  }
  if (!is_packed)
    copy_elements(context, p.weight.data, p.weight.strides, whole, contiguous_strides(p.weight.shape), p.weight.shape,
                  p.dtype());
  if (p.bias) sum_of_channels(context, p);
}

// Where the image does not lie without gaps that happens to a copy of it.
void finish_in_place(KernelContext& context, const ConvolutionProblem& p) {
  const Image& out = p.out;
  if (!p.after.any() || out.size() == 0) return;
  const bool is_last = out.strides == channels_last_strides(out.shape);
  if (is_last || out.strides == contiguous_strides(out.shape))
    return finish_convolution(context, out, out.data, is_last, nullptr, p.after);
  LaunchScratch scratch;
  const Strides packed = contiguous_strides(out.shape);
  void* const made = scratch.take(static_cast<size_t>(out.size()) * item_size(out.dtype));
  copy_elements(context, made, packed, out.data, out.strides, out.shape, out.dtype);
  finish_convolution(context, out, made, false, nullptr, p.after);
  copy_elements(context, out.data, out.strides, made, packed, out.shape, out.dtype);
}

}  // namespace

void finish_convolution(KernelContext& context, const Image& image, void* data, bool channels_last, const void* bias,
                        const ConvolutionProblem::After& after) {
  const int64_t size = image.size(), channels = image.shape[1];
  if (size == 0 || (!bias && !after.any())) return;
  LaunchScratch scratch;
  const void* sum = nullptr;
  if (after.sum) {
    const Strides packed = channels_last ? channels_last_strides(image.shape) : contiguous_strides(image.shape);
    sum = after.sum->data;
    if (after.sum->strides != packed) {
      void* const made = scratch.take(static_cast<size_t>(size) * item_size(image.dtype));
      copy_elements(context, made, packed, sum, after.sum->strides, image.shape, image.dtype);
      sum = made;
    }
  }
  const device::AfterConvolutionArguments arguments{data,
                                                    bias,
                                                    static_cast<const float*>(after.scale),
                                                    static_cast<const float*>(after.shift),
                                                    sum,
                                                    after.relu,
                                                    size,
                                                    channels,
                                                    channels_last ? 1 : size / image.shape[0] / channels};
  const auto widest = static_cast<int64_t>(kPackBytes / item_size(image.dtype));
  const bool is_packed =
      (channels_last ? channels : arguments.inner) % widest == 0 && begins_pack(data) && begins_pack(sum);
  const int64_t pack = is_packed ? widest : 1;
  launch_cuda({"ops/convolution/convolution.cuh",
               fmt::format("after_convolution<{}, {}, {}>", element_name(image.dtype), pack, channels_last),
               "AfterConvolutionArguments"},
              grid_of(size / pack), arguments);
}

void sum_of_channels(KernelContext& context, const ConvolutionProblem& p) {
  const Shape channels{p.out.shape[1]};
  const Strides one{1};
  const Tensor out{p.out.data, p.out.dtype, p.out.shape, p.out.strides, p.out.size()};
  sum().run(context, out, all_axes(p.out.shape.size()) & ~AxisSet{0b10},
            {p.bias, p.out.dtype, channels, one, channels[0]});
}

void convolve_by_products(KernelContext& context, const ConvolutionProblem& p) {
  if (p.pass == ConvolutionPass::kWeight) return gradient_of_weight(context, p);
  const int64_t images = p.data.shape[0], step = images_at_once(p);
  for (int64_t first = 0; first < images; first += step)
    for (int64_t g = 0; g < p.window.groups; ++g) {
      GroupOfImages part(context, p, g, first, std::min(step, images - first));
      p.pass == ConvolutionPass::kForward ? part.forward() : part.to_data();
    }
  if (p.pass == ConvolutionPass::kForward) finish_in_place(context, p);
}

void add_convolution_cuda(KernelTable& table) {
  table.set_own_kernels({"Convolution", "_fused_convolution", "Deconvolution", "_transposed_convolution",
                         "_backward_Convolution", "_convolution_weight_gradient"});
}

}  // namespace headrace
