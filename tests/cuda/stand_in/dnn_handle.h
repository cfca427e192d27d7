// cuDNN's handle as the stand-in has it.
#pragma once

#include <cudnn_graph.h>

#include "tests/cuda/stand_in/machine.h"

struct cudnnContext {
  stand_in::Context* context;
  stand_in::Stream* stream;
};

namespace stand_in {

// Where bytes at an address lie, which must be memory of the handle's device. Ends the process otherwise.
inline char* on_device(const cudnnContext& handle, const char* call, const char* which, const void* pointer,
                       size_t bytes, int64_t alignment) {
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  Context* const owner = machine().owner(address);
  if (owner != handle.context) violation("%s: %s is no memory of the handle's device", call, which);
  if (address % static_cast<uint64_t>(alignment) != 0) violation("%s: %s is not aligned as was said", call, which);
  return owner->memory.find(address, bytes);
}

}  // namespace stand_in
