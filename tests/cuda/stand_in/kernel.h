// Kernels as code of the host: what the stand-in's compiler makes and its driver runs.
#pragma once

#include <optional>
#include <string>

#include "tests/cuda/stand_in/block.h"
#include "tests/cuda/stand_in/machine_code.h"

namespace stand_in {

// Shared memory of a block of which nothing is said, and the most that one may have.
inline constexpr unsigned kUsualSharedBytes = 48 << 10, kMostSharedBytes = 99 << 10;

// Runs all blocks, one after the other, each by `threads`; what the kernel takes lies in `arguments` as the members of
// a struct do.
using Kernel = void (*)(const Extents& extents, const void* arguments, Threads& threads);

// That of the calling thread.
Threads& threads_of_block();

// A kernel, and what launches of it have to keep to.
struct Function {
  Kernel run;
  Resources resources;                              // none of what runs on the host
  std::optional<unsigned> most_dynamic_bytes = {};  // of shared memory, that launches have announced
};

struct Module;

// A shared library that compile_kernels() made, in memory: a number of bytes, then they. Machine code of a GPU is
// taken, too, and its kernels do nothing. Null: it is neither.
Module* load_image(const void* image);
void unload_image(Module* module);
// Lives as long as the module. Null: there is no such kernel.
Function* find_kernel(Module& module, const std::string& name);

}  // namespace stand_in
