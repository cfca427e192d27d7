// Kernels of a program's own on a GPU (device/kernel_module.h).
#pragma once

#include <memory>

#include "device/kernel_module.h"

namespace headrace {

class CudaDevice;

// Raises Error(kRuntime) with what the compiler or the driver says. Any thread.
std::shared_ptr<KernelModule> load_module(CudaDevice& device, const KernelSource& source);

}  // namespace headrace
