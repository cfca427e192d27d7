#include <algorithm>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "ndarray/strided_copy.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/convolution/column_products.h"
#include "ops/convolution/convolution.h"
#include "ops/convolution/onednn_convolution.h"
#include "ops/convolution/plain_convolution.h"
#include "ops/convolution/window_products.h"
#include "ops/linalg/gemm.h"

namespace headrace {
namespace {

// The work divides into blocks that read weights from shared caches: less than elsewhere justifies a thread.
constexpr double kCostPerThread = 20'000;

// A dense array that oneDNN can describe; others are packed.
Image describable(KernelContext& context, const Image& image) {
  return is_dense(image.shape, image.strides) ? image : packed_image(context, image);
}

// Whether what windows of one element see is packed, so that there is nothing left to step over. For gradients of
// weights oneDNN 3.2 does so in scratch memory, and writes beyond it where there are few channels; in forward passes
// data in another order than the library's is reordered anyhow, and what no window sees need not be.
bool steps_over_data(const ConvolutionProblem& p) {
  const Window& w = p.window;
  const bool is_packed = p.pass == ConvolutionPass::kWeight ||
                         (p.pass == ConvolutionPass::kForward && !is_channels_last(p.data.shape, p.data.strides));
  return is_packed && std::ranges::all_of(w.kernel, [](int64_t k) { return k == 1; }) &&
         std::ranges::all_of(w.pad, [](int64_t pad) { return pad == 0; }) &&
         std::ranges::any_of(w.stride, [](int64_t step) { return step > 1; });
}

// The elements that windows of one element see.
Image seen_by(const Window& window, Image data, const Shape& out) {
  for (size_t i = 0; i < window.spatial(); ++i) {
    data.shape[i + 2] = out[i + 2];
    data.strides[i + 2] *= window.stride[i];
  }
  return data;
}

bool by_library(KernelContext& context, const ConvolutionProblem& p) {
  if (steps_over_data(p)) {
    Window next = p.window;
    std::ranges::fill(next.stride, 1);
    const Image seen = packed_image(context, seen_by(p.window, p.data, p.out.shape));
    return by_library(context, {p.pass, next, seen, p.weight, p.out, p.bias, p.after});
  }
  ConvolutionProblem dense = p;
  for (Image* image : {&dense.data, &dense.weight, &dense.out}) *image = describable(context, *image);
  if (p.after.sum) dense.after.sum = describable(context, *p.after.sum);
  const int width = width_for(convolution_cost(p.dtype(), p.weight.shape, p.out.shape), kCostPerThread);
  bool done = false;
  run_in_arena_of(width, [&] { done = onednn_convolution(context, dense, width); });
  return done;
}

template <class From, class To>
void convert(const From* from, To* to, int64_t count) {
  parallel_for(count, 4096, static_cast<double>(count), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
  });
}

// Half types for which the library has no kernel: through float32.
template <class Half>
class ThroughFloat {
 public:
  ThroughFloat(KernelContext& context, const ConvolutionProblem& p) : context_(context), p_(p), wide_(p) {}

  void run() {
    const bool data = p_.pass == ConvolutionPass::kData, weight = p_.pass == ConvolutionPass::kWeight;
    wide_.data = widened(p_.data, !data);
    wide_.weight = widened(p_.weight, !weight);
    wide_.out = widened(p_.out, data || weight);
    const int64_t channels = data ? p_.data.shape[1] : p_.weight.shape[0];
    if (p_.bias) {
      auto* bias = context_.workspace<float>(channels);
      if (!weight) convert(static_cast<const Half*>(p_.bias), bias, channels);
      wide_.bias = bias;
    }
    convolve(context_, wide_);
    const Image &from = data ? wide_.data : (weight ? wide_.weight : wide_.out),
                &to = data ? p_.data : (weight ? p_.weight : p_.out);
    convert(static_cast<const float*>(from.data), static_cast<Half*>(to.data), to.size());
    if (p_.bias && weight) convert(static_cast<const float*>(wide_.bias), static_cast<Half*>(p_.bias), channels);
  }

 private:
  // Results are dense, so the elements correspond in the order of memory.
  Image widened(const Image& image, bool is_read) {
    Image dense = describable(context_, image);
    Image wide = dense;
    wide.dtype = DType::kFloat32;
    wide.storage = nullptr;
    wide.data = context_.workspace<float>(dense.size());
    if (is_read) convert(static_cast<const Half*>(dense.data), static_cast<float*>(wide.data), dense.size());
    return wide;
  }

  KernelContext& context_;
  const ConvolutionProblem& p_;
  ConvolutionProblem wide_;
};

template <class T>
void add_channels(const Image& image, const T* bias) {
  const int64_t channels = image.shape[1], rows = image.size() / channels;
  T* data = static_cast<T*>(image.data);
  if (is_channels_last(image.shape, image.strides)) {
    parallel_for(rows, 16, static_cast<double>(image.size()) * 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t c = 0; c < channels; ++c)
          data[row * channels + c] = static_cast<T>(static_cast<float>(data[row * channels + c]) + float(bias[c]));
    });
    return;
  }
  const int64_t plane = rows / image.shape[0];
  for (int64_t i = 0; i < image.size(); ++i)
    data[i] = static_cast<T>(static_cast<float>(data[i]) + float(bias[i / plane % channels]));
}

// What comes after a convolution, where the library did not do it.
void finish(KernelContext& context, const ConvolutionProblem& p) {
  const Image& out = p.out;
  const auto& after = p.after;
  const void* sum = nullptr;
  if (after.sum && after.sum->strides == out.strides) {
    sum = after.sum->data;
  } else if (after.sum) {
    void* packed = context.workspace(static_cast<size_t>(out.size()) * item_size(out.dtype));
    strided_copy(packed, out.strides, after.sum->data, after.sum->strides, out.shape, out.dtype);
    sum = packed;
  }
  const auto *scale = static_cast<const float*>(after.scale), *shift = static_cast<const float*>(after.shift);
  const int64_t channel_step = out.strides[1], channels = out.shape[1];
  dispatch(out.dtype, [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) {
      T* to = static_cast<T*>(out.data);
      parallel_for(out.size(), 4096, static_cast<double>(out.size()), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t channel = i / channel_step % channels;
          if (scale)
            to[i] = static_cast<T>(static_cast<double>(to[i]) * static_cast<double>(scale[channel]) +
                                   static_cast<double>(shift[channel]));
          if (sum) to[i] = static_cast<T>(to[i] + static_cast<const T*>(sum)[i]);
          if (after.relu && to[i] < T(0)) to[i] = T(0);
        }
      });
    }
  });
}

// oneDNN's backward pass knows no bias.
void add_bias_to_data(const ConvolutionProblem& p) {
  if (p.dtype() == DType::kFloat32)
    add_channels(p.data, static_cast<const float*>(p.bias));
  else if (p.dtype() == DType::kFloat16)  // which oneDNN knows on processors with AVX512-FP16
    add_channels(p.data, static_cast<const Float16*>(p.bias));
  else
    add_channels(p.data, static_cast<const Bfloat16*>(p.bias));
}

}  // namespace

namespace {

// A convolution as a product of matrices: rows, columns and depth.
struct Product {
  int64_t m, n, k;
};

Product product_of(const Shape& weight, const Shape& out) {
  Product product{out[0], weight[0], 1};
  for (size_t i = 1; i < weight.size(); ++i) product.k *= weight[i];
  for (size_t i = 2; i < out.size(); ++i) product.m *= out[i];
  return product;
}

}  // namespace

double convolution_cost(DType dtype, const Shape& weight, const Shape& out) {
  const Product product = product_of(weight, out);
  return 1000 + gemm_cost(dtype, 1, product.m, product.n, product.k);
}

void set_convolution_cost(Infer& infer, const Shape& weight, const Shape& out, int passes) {
  const Product product = product_of(weight, out);
  set_gemm_cost(infer, passes, product.m, product.n, product.k);
  infer.cost(passes * convolution_cost(infer.dtype(0), weight, out));
}

namespace {

void convolve_on_host(KernelContext& context, const ConvolutionProblem& p) {
  const bool is_empty = p.data.size() == 0 || p.weight.size() == 0 || p.out.size() == 0;
  const bool plain = is_empty || p.dtype() == DType::kFloat64;
  if (!is_empty && suits_window_products(p)) {
    window_products(context, p);
  } else if (!plain && by_library(context, p)) {
    if (p.bias && p.pass == ConvolutionPass::kData) add_bias_to_data(p);
  } else if (p.after.any()) {
    ConvolutionProblem bare = p;
    bare.after = {};
    convolve(context, bare);
    finish(context, p);
  } else if (p.dtype() == DType::kFloat16 && !plain) {
    ThroughFloat<Float16>(context, p).run();
  } else if (p.dtype() == DType::kBfloat16 && !plain) {
    ThroughFloat<Bfloat16>(context, p).run();
  } else if (!is_empty && suits_column_products(p)) {
    column_products(context, p);
  } else {
    plain_convolution(p);
  }
}

}  // namespace

const decltype(convolution_part) convolution_part{"convolution", convolve_on_host};

void convolve(KernelContext& context, const ConvolutionProblem& problem) { convolution_part(context, problem); }

}  // namespace headrace
