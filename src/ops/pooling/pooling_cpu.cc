#include "backend/cpu/parallel.h"
#include "op/kernel.h"
#include "ops/pooling/onednn_pooling.h"
#include "ops/pooling/plain_pooling.h"
#include "ops/pooling/pooling.h"

namespace headrace {
namespace {

// Whether oneDNN means the same by this problem.
bool suits_library(const PoolingProblem& p) {
  const PoolWindow& w = p.window;
  if ((w.kind != PoolKind::kMax && w.kind != PoolKind::kAverage)) return false;
  if (p.data.size() == 0 || p.result.size() == 0) return false;
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    const int64_t last = (p.result.shape[i + 2] - 1) * w.stride[i] - w.pad[i], extent = p.data.shape[i + 2];
    if (last >= extent || w.pad[i] >= w.kernel[i]) return false;
    // An average that counts padding does not count what lies beyond it.
    if (w.kind == PoolKind::kAverage && w.counts_padding && last + w.kernel[i] > extent + w.pad[i]) return false;
  }
  return true;
}

bool has_library_floats(const PoolingProblem& p) {
  return p.data.dtype == DType::kFloat32 || p.data.dtype == DType::kBfloat16;
}

template <class Run>
bool by_library(KernelContext& context, const PoolingProblem& p, Run&& run) {
  if (!suits_library(p)) return false;
  PoolingProblem dense = p;
  for (Image* image : {&dense.data, &dense.result, &dense.moving})
    if (image->data && !is_dense(image->shape, image->strides)) *image = packed_image(context, *image);
  const double bytes = static_cast<double>(p.data.size() + p.result.size() + p.moving.size()) *
                       static_cast<double>(item_size(p.data.dtype));
  const int width = width_for(1000 + bytes * 0.1);
  bool done = false;
  run_in_arena_of(width, [&] { done = run(context, dense, width); });
  return done;
}

void multiply(const Image& dense, float factor) {
  auto* const numbers = static_cast<float*>(dense.data);
  parallel_for(dense.size(), 4096, static_cast<double>(dense.size()) * 0.1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) numbers[k] *= factor;
  });
}

// A sum is an average that counts padding, times the size of the window.
bool sum_by_library(KernelContext& context, bool is_forward, const PoolingProblem& p) {
  PoolWindow average = p.window;
  average.kind = PoolKind::kAverage;
  average.counts_padding = true;
  PoolingProblem averages{average, p.data, p.result, p.moving};
  float size = 1;
  for (int64_t extent : average.kernel) size *= static_cast<float>(extent);
  if (!suits_library(averages) || (is_forward && !is_dense(p.result.shape, p.result.strides))) return false;
  if (is_forward) {
    if (!by_library(context, averages, onednn_pooling)) return false;
    multiply(p.result, size);
    return true;
  }
  averages.result = packed_image(context, p.result);
  multiply(averages.result, size);
  return by_library(context, averages, onednn_pooling_back);
}

void pool_on_host(KernelContext& context, PoolingPass pass, const PoolingProblem& p) {
  const bool is_forward = pass == PoolingPass::kForward;
  if (pass == PoolingPass::kTangent) return plain_pooling_tangent(p);
  if (p.window.kind == PoolKind::kSum && p.data.dtype == DType::kFloat32 && sum_by_library(context, is_forward, p))
    return;
  if (has_library_floats(p) && by_library(context, p, is_forward ? onednn_pooling : onednn_pooling_back)) return;
  is_forward ? plain_pooling(p) : plain_pooling_back(p);
}

}  // namespace

const decltype(pooling_part) pooling_part{"pooling", pool_on_host};

void pool(KernelContext& context, const PoolingProblem& p) { pooling_part(context, PoolingPass::kForward, p); }

bool pool_bytes(KernelContext& context, const PoolingProblem& p) { return by_library(context, p, onednn_pooling); }

void pool_back(KernelContext& context, const PoolingProblem& p) { pooling_part(context, PoolingPass::kBackward, p); }

void pool_tangent(KernelContext& context, const PoolingProblem& p) { pooling_part(context, PoolingPass::kTangent, p); }

}  // namespace headrace
