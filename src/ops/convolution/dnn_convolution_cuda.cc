// Convolutions by cuDNN, which wants images and weights all packed with channels last, or all with channels second:
// what lies otherwise is copied. What the library does not compute, products of matrices do.

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/dnn.h"
#include "op/copy_part.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/convolution/convolution_cuda.h"

namespace headrace {
namespace {

// Where an axis has one element its stride means nothing.
bool lies_as(const Image& image, const Strides& strides) {
  for (size_t d = 0; d < strides.size(); ++d)
    if (image.shape[d] != 1 && image.strides[d] != strides[d]) return false;
  return true;
}

// The library knows two and three spatial axes: one becomes two, the first with one element.
Shape with_height(const Shape& numbers, size_t spatial_begin, int64_t height) {
  Shape made = numbers;
  if (numbers.size() == spatial_begin + 1) made.insert(spatial_begin, height);
  return made;
}

class LibraryConvolution {
 public:
  LibraryConvolution(KernelContext& context, const ConvolutionProblem& p) : context_(context), p_(p) {
    channels_last_ =
        !lies_as(p.data, contiguous_strides(p.data.shape)) || !lies_as(p.out, contiguous_strides(p.out.shape));
    call_ = {.pass = p.pass == ConvolutionPass::kForward ? DnnPass::kForward
                     : p.pass == ConvolutionPass::kData  ? DnnPass::kData
                                                         : DnnPass::kWeight,
             .dtype = p.dtype(),
             .x = tensor(p.data),
             .w = tensor(p.weight),
             .y = tensor(p.out),
             .stride = with_height(p.window.stride, 0, 1),
             .dilate = with_height(p.window.dilate, 0, 1),
             .pad = with_height(p.window.pad, 0, 0)};
  }

  // False: nothing was done.
  bool run() {
    CudaStream& stream = current_cuda_stream();
    const auto workspace = [this](size_t bytes) { return scratch_.take(bytes); };
    const DnnPlan* const plan = find_convolution(stream, call_, workspace);
    if (!plan) return false;
    const bool is_read[] = {p_.pass != ConvolutionPass::kData, p_.pass != ConvolutionPass::kWeight,
                            p_.pass != ConvolutionPass::kForward};
    const Image* const images[] = {&p_.data, &p_.weight, &p_.out};
    const DnnTensor* const tensors[] = {&call_.x, &call_.w, &call_.y};
    for (int i = 0; i < 3; ++i)
      if (is_read[i] && images[i]->data != tensors[i]->data)
        copy(tensors[i]->data, packed(*images[i]), images[i]->data, images[i]->strides, images[i]->shape);
    put_convolution(stream, *plan, call_, workspace);
    for (int i = 0; i < 3; ++i) {
      if (is_read[i]) continue;
      if (p_.pass != ConvolutionPass::kWeight)
        finish_convolution(context_, *images[i], tensors[i]->data, channels_last_, p_.bias, p_.after);
      if (images[i]->data != tensors[i]->data)
        copy(images[i]->data, images[i]->strides, tensors[i]->data, packed(*images[i]), images[i]->shape);
    }
    if (p_.bias && p_.pass == ConvolutionPass::kWeight) sum_of_channels(context_, p_);
    return true;
  }

 private:
  Strides packed(const Image& image) const {
    return channels_last_ ? channels_last_strides(image.shape) : contiguous_strides(image.shape);
  }

  // With memory of its own where the image does not lie as the library wants it.
  DnnTensor tensor(const Image& image) {
    const Strides strides = packed(image);
    void* const data = lies_as(image, strides)
                           ? image.data
                           : scratch_.take(static_cast<size_t>(image.size()) * item_size(image.dtype));
    return {data, with_height(image.shape, 2, 1), with_height(strides, 2, strides[2] * image.shape[2])};
  }

  void copy(void* to, const Strides& to_strides, const void* from, const Strides& from_strides, const Shape& shape) {
    copy_elements(context_, to, to_strides, from, from_strides, shape, p_.dtype());
  }

  KernelContext& context_;
  const ConvolutionProblem& p_;
  LaunchScratch scratch_;
  bool channels_last_;
  DnnConvolution call_;
};

// What the library could compute: of a type that it sums in float32, with elements everywhere, windows that begin and
// end as it counts them.
bool is_for_library(const ConvolutionProblem& p) {
  if (p.dtype() != DType::kFloat32 && p.dtype() != DType::kFloat16 && p.dtype() != DType::kBfloat16) return false;
  if (p.data.size() == 0 || p.weight.size() == 0 || p.out.size() == 0) return false;
  for (size_t i = 0; i < p.window.spatial(); ++i) {
    const int64_t room = p.data.shape[i + 2] + 2 * p.window.pad[i] - p.window.span(i);
    if (room < 0 || room / p.window.stride[i] + 1 != p.out.shape[i + 2]) return false;
  }
  return true;
}

void convolve_cuda(KernelContext& context, const ConvolutionProblem& p) {
  if (is_for_library(p) && LibraryConvolution(context, p).run()) return;
  convolve_by_products(context, p);
}

}  // namespace

void add_dnn_convolution_cuda(KernelTable& table) { table.set_part(convolution_part, convolve_cuda); }

}  // namespace headrace
