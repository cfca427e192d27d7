// Kernels as code of the host: what the stand-in's compiler makes and its driver runs.
#pragma once

namespace stand_in {

// Runs all threads of all blocks, one after the other; `arguments` is the kernel's one struct.
using Kernel = void (*)(unsigned blocks, unsigned threads, const void* arguments);

// A shared library that compile_kernels() made, in memory: a number of bytes, then they. Null: it is none.
void* load_image(const void* image);
// Null: there is no such kernel.
Kernel find_kernel(void* module, const char* name);

}  // namespace stand_in
