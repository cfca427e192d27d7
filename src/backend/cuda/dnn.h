// Convolutions by cuDNN 9, a library that is looked up when the first convolution is needed. One handle for each
// device, which the device's launch thread alone uses; what the library says of a convolution is kept with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/function_ref.h"
#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"

namespace headrace {

class CudaStream;

struct DnnTensor {
  void* data;
  Shape shape;
  Strides strides;  // in elements
};

enum class DnnPass : uint8_t { kForward, kData, kWeight };

// y[n, o, p] = sum over i, k of x[n, i, p * stride - pad + k * dilate] * w[o, i, k]; with two or three spatial axes.
// The pass says which one is written. As many groups as the channels of w fit into those of x.
struct DnnConvolution {
  DnnPass pass;
  DType dtype;  // float32, float16 or bfloat16; sums are float32
  DnnTensor x, w, y;
  Shape stride, dilate, pad;  // one for each spatial axis
};

// How the library computes a convolution; lives as long as the process.
class DnnPlan;

// Null: there is no library, or it has no code for this one that is deterministic and does not round what it is given;
// both are said once. Where the configuration says so a new convolution is tried in several ways, with its own memory:
// what it reads may be anything, and what it writes is anything afterwards. `workspace` gives memory of the device that
// belongs to the launch. Raises Error. The launch thread of the stream's device.
const DnnPlan* find_convolution(CudaStream& stream, const DnnConvolution& convolution,
                                FunctionRef<void*(size_t bytes)> workspace);

// Puts the convolution that the plan was found for on the stream. Raises Error(kRuntime). The launch thread of the
// stream's device.
void put_convolution(CudaStream& stream, const DnnPlan& plan, const DnnConvolution& convolution,
                     FunctionRef<void*(size_t bytes)> workspace);

// Whether there is the library. Any thread.
bool has_dnn();

}  // namespace headrace
