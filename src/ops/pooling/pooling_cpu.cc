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

void pool_on_host(KernelContext& context, PoolingPass pass, const PoolingProblem& p) {
  const bool is_forward = pass == PoolingPass::kForward;
  if (pass == PoolingPass::kTangent) return plain_pooling_tangent(p);
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
