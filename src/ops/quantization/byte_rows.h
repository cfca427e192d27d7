// Weights of floats, each row of which (an index of the first axis) is held in int8 numbers of a range of its own.
#pragma once

#include "ops/convolution/image.h"

namespace headrace {

struct ByteRows {
  Image bytes;                  // row-major
  const float* unit = nullptr;  // of each row: what the number 1 stands for
};

// Rounds them, or takes what was kept of an earlier run while the weights have not changed. In the task's workspace, or
// valid as long as the task holds access to the weights.
ByteRows byte_rows(KernelContext& context, const Image& floats);

}  // namespace headrace
