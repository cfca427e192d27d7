// The attributes and the kernel of pooling.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/convolution/image.h"

namespace headrace {

struct PoolingAttrs {
  Shape kernel = {};
  std::string pool_type = "max";
  bool global_pool = false, cudnn_off = false;
  std::string pooling_convention = "valid";
  Shape stride = {}, pad = {};
  std::optional<int64_t> p_value = {};
  std::optional<bool> count_include_pad = {};
  Layout layout = {};
  static constexpr auto kFields = fields(
      field(&PoolingAttrs::kernel, "kernel", "Extent of the window: (w,), (h, w) or (d, h, w)."),
      field(&PoolingAttrs::pool_type, "pool_type", "What is taken of a window: its maximum, average, sum or Lp norm.")
          .one_of("max|avg|sum|lp"),
      field(&PoolingAttrs::global_pool, "global_pool",
            "Whether the window is the whole image; kernel, stride and pad are then ignored."),
      field(&PoolingAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."),
      field(&PoolingAttrs::pooling_convention, "pooling_convention",
            "Number of windows per axis: floor((extent + 2 pad - kernel) / stride) + 1 (valid), the same with "
            "ceil (full), or ceil((extent + 2 pad) / stride) (same).")
          .one_of("valid|full|same"),
      field(&PoolingAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&PoolingAttrs::pad, "pad", "Elements added at both ends of each axis; () is none."),
      field(&PoolingAttrs::p_value, "p_value", "The p of the Lp norm: 1, 2 or 3."),
      field(&PoolingAttrs::count_include_pad, "count_include_pad", "Whether averages count the padding; None is True."),
      field(&PoolingAttrs::layout, "layout", "Order of the axes of data and result; None has channels second.")
          .one_of("NCW|NWC|NCHW|NHWC|NCDHW|NDHWC"));
};

enum class PoolKind : uint8_t { kMax, kAverage, kSum, kNorm };

// The window over an image, with one number per spatial axis.
struct PoolWindow {
  PoolKind kind = PoolKind::kMax;
  Shape kernel, stride, pad;
  int64_t p = 2;
  bool counts_padding = true;
};

struct PoolingProblem {
  const PoolWindow& window;
  Image data;         // (n, c, ...)
  Image result;       // (n, c, ...); of the backward pass and the tangent: its gradient, its change
  Image moving = {};  // of these two, shaped as data: the gradient of data, the change of data
};

// The rule and kernel of pooling, of input 0 and result 0.
void infer_pooling(Infer& infer, const PoolingAttrs& attrs);
using Pool = bool (*)(KernelContext&, const PoolingProblem&);
bool run_pooling(KernelContext& context, const PoolingAttrs& attrs, Pool pool);

// Run on the thread of a task. Each writes what follows from the others: the result; the gradient of data from that of
// the result; the change of the result from that of data.
void pool(KernelContext& context, const PoolingProblem& problem);
// The same for bytes, averages being rounded to the nearest number; false where the library does not do it.
bool pool_bytes(KernelContext& context, const PoolingProblem& problem);
void pool_back(KernelContext& context, const PoolingProblem& problem);
void pool_tangent(KernelContext& context, const PoolingProblem& problem);
// What these, but for bytes, leave all work to.
enum class PoolingPass : uint8_t { kForward, kBackward, kTangent };
extern const KernelPartOf<void(KernelContext& context, PoolingPass pass, const PoolingProblem& problem)> pooling_part;

}  // namespace headrace
