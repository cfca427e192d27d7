// Which of several plans computes a convolution fastest on the GPU that is there: each is tried. Only where cuDNN's
// headers are.
#pragma once

#include <span>

#include "backend/cuda/dnn_plan.h"

namespace headrace {

class CudaStream;

// Runs each plan on the stream, where the handle puts its work, with the convolution's own memory, and waits for it:
// what the convolution reads may be anything, and what it writes is anything afterwards. A plan that fails is not the
// fastest; the first where all do. Raises Error where the device is lost, or has no memory for the largest workspace.
// The launch thread of the stream's device, whose context is current.
size_t fastest_plan(CudaStream& stream, cudnnHandle_t handle, std::span<const DnnPlan> plans,
                    const DnnConvolution& convolution, FunctionRef<void*(size_t bytes)> workspace);

}  // namespace headrace
