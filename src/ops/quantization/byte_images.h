// Images of bytes, through floats where the library has no kernel on bytes. Run on the thread of a task.
#pragma once

#include "ops/convolution/image.h"

namespace headrace {

// The same elements row-major: the image itself, or packed in the task's workspace.
Image row_major(KernelContext& context, const Image& image);
// The elements as float32, row-major, in the task's workspace; for a result unwritten memory of that kind.
Image as_floats(KernelContext& context, const Image& bytes);
Image floats_for(KernelContext& context, const Image& bytes);
// Writes row-major floats, rounded and cut, or as they are where `to` holds floats.
void write_rounded(KernelContext& context, const Image& floats, const Image& to);

}  // namespace headrace
