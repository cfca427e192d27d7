// Kernels as code of the host: what the stand-in's compiler makes and its driver runs.
#pragma once

#include "tests/cuda/stand_in/block.h"

namespace stand_in {

// Runs all blocks, one after the other, each by `threads`; what the kernel takes lies in `arguments` as the members of
// a struct do.
using Kernel = void (*)(const Extents& extents, const void* arguments, Threads& threads);

// That of the calling thread.
Threads& threads_of_block();

// A shared library that compile_kernels() made, in memory: a number of bytes, then they. Machine code of a GPU is
// taken, too, and its kernels do nothing. Null: it is neither.
void* load_image(const void* image);
void unload_image(void* module);
// Null: there is no such kernel.
Kernel find_kernel(void* module, const char* name);

}  // namespace stand_in
