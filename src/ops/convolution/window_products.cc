#include "ops/convolution/window_products.h"

#include <algorithm>
#include <cstring>

#include "ndarray/strided_copy.h"
#include "op/kernel.h"
#include "ops/linalg/gemm.h"
#include "ops/onednn.h"

namespace headrace {
namespace {

// Measured with 3 x 3 windows of 256 and 512 channels: below this share the products are ahead of oneDNN's kernels.
constexpr double kLargestShareInside = 0.8;
// With fewer channels the matrices are too small to make up for the copies.
constexpr int64_t kFewestChannels = 128;
// Copies that are larger are not worth their memory where all windows lie inside.
constexpr int64_t kMostBytes = int64_t{64} << 20;

WindowRange windows_inside(const ConvolutionProblem& p, size_t axis, int64_t element) {
  return p.window.inside(axis, element, p.data.shape[axis + 2], p.out.shape[axis + 2]);
}

double share_inside(const ConvolutionProblem& p) {
  double share = 1;
  for (size_t axis = 0; axis < p.window.spatial(); ++axis) {
    double inside = 0;
    for (int64_t element = 0; element < p.window.kernel[axis]; ++element)
      inside += static_cast<double>(windows_inside(p, axis, element).size());
    share *= inside / static_cast<double>(p.window.kernel[axis] * p.out.shape[axis + 2]);
  }
  return share;
}

// oneDNN's kernels for vectors of 256 bits reach two thirds of the speed of products of matrices.
bool is_ahead_of_narrow_vectors(const ConvolutionProblem& p) {
  const int64_t filters = p.out.shape[1], channels = p.data.shape[1];
  const int64_t copied = p.out.size() / filters * (filters + channels) * static_cast<int64_t>(sizeof(float));
  return p.dtype() == DType::kFloat32 && p.weight.size() > filters * channels && copied <= kMostBytes &&
         !onednn::has_instructions(dnnl::cpu_isa::avx512_core);
}

class WindowProducts {
 public:
  WindowProducts(KernelContext& context, const ConvolutionProblem& p)
      : context_(context),
        p_(p),
        bytes_(item_size(p.dtype())),
        filters_(p.out.shape[1]),
        channels_(p.data.shape[1]),
        elements_(p.weight.size() / (filters_ * channels_)),
        rows_(p.out.size() / filters_),
        heads_(workspace(rows_ * filters_)),
        values_(workspace(rows_ * channels_)),
        products_(workspace(p.weight.size())) {}

  void run() const {
    for (int64_t element = 0; element < elements_; ++element) multiply(element);
    // (elements, filters, channels) as (filters, channels, elements)
    Shape shape{filters_, channels_, elements_};
    strided_copy(p_.weight.data, element_strides(), products_, {channels_, 1, filters_ * channels_}, shape, p_.dtype());
  }

 private:
  char* workspace(int64_t count) const {
    return static_cast<char*>(context_.workspace(static_cast<size_t>(count) * bytes_));
  }

  // The weight's strides with all axes of the window as one.
  Strides element_strides() const { return {p_.weight.strides[0], p_.weight.strides[1], p_.weight.strides.back()}; }

  void multiply(int64_t element) const {
    const Window& w = p_.window;
    Shape windows{p_.out.shape[0]};
    Strides heads{p_.out.strides[0]}, values{p_.data.strides[0]};
    int64_t rows = windows[0], first_head = 0, first_value = 0;
    int64_t rest = element, extent = elements_;
    for (size_t axis = 0; axis < w.spatial(); ++axis) {
      extent /= w.kernel[axis];
      const int64_t place = rest / extent;
      rest %= extent;
      const WindowRange range = windows_inside(p_, axis, place);
      const int64_t head_stride = p_.out.strides[axis + 2], value_stride = p_.data.strides[axis + 2];
      first_head += range.begin * head_stride;
      first_value += (range.begin * w.stride[axis] + place * w.dilate[axis] - w.pad[axis]) * value_stride;
      windows.push_back(range.size());
      heads.push_back(head_stride);
      values.push_back(w.stride[axis] * value_stride);
      rows *= range.size();
    }
    char* const product = products_ + static_cast<size_t>(element * filters_ * channels_) * bytes_;
    if (rows == 0) {
      std::memset(product, 0, static_cast<size_t>(filters_ * channels_) * bytes_);
      return;
    }
    gather(heads_, p_.out, first_head, heads, windows);
    gather(values_, p_.data, first_value, values, windows);
    gemm(context_, {.dtype = p_.dtype(),
                    .m = filters_,
                    .n = channels_,
                    .k = rows,
                    .a = {.data = heads_, .row_stride = 1, .column_stride = filters_},
                    .b = {.data = values_, .row_stride = channels_, .column_stride = 1},
                    .c = product});
  }

  // The channels at these places of the image, a row for each.
  void gather(char* to, const Image& image, int64_t first, Strides strides, Shape places) const {
    places.push_back(image.shape[1]);
    strides.push_back(image.strides[1]);
    const char* const from = static_cast<const char*>(image.data) + first * static_cast<int64_t>(bytes_);
    strided_copy(to, contiguous_strides(places), from, strides, places, p_.dtype());
  }

  KernelContext& context_;
  const ConvolutionProblem& p_;
  const size_t bytes_;
  const int64_t filters_, channels_, elements_, rows_;
  char *const heads_, *const values_, *const products_;
};

}  // namespace

bool suits_window_products(const ConvolutionProblem& p) {
  const bool is_known = p.dtype() == DType::kFloat32 || p.dtype() == DType::kBfloat16;
  if (p.pass != ConvolutionPass::kWeight || !is_known || p.bias || p.window.groups > 1) return false;
  if (std::min(p.data.shape[1], p.out.shape[1]) < kFewestChannels) return false;
  const Image& weight = p.weight;
  if (!is_contiguous(weight.shape, weight.strides) && !is_channels_last(weight.shape, weight.strides)) return false;
  return share_inside(p) < kLargestShareInside || is_ahead_of_narrow_vectors(p);
}

void window_products(KernelContext& context, const ConvolutionProblem& p) { WindowProducts(context, p).run(); }

}  // namespace headrace
