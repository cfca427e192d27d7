// The compiler of kernels, NVRTC, a library that is looked up when the first kernel is needed, and what it has made: in
// memory for each device, and in files for later processes.
#pragma once

#include <map>
#include <span>
#include <string>

#include "backend/cuda/driver.h"

namespace headrace {

class CudaDevice;
struct KernelSource;

// A header that kernels include, and its text: they are part of this library (cmake/cuda.cmake).
struct DeviceHeader {
  const char* name;
  const char* text;
};
std::span<const DeviceHeader> device_headers();

// What the compiler makes of a source for GPUs of a compute capability (90: sm_90): machine code, or where the compiler
// is older than the GPU code that the driver translates. Raises Error(kRuntime) with the compiler's messages, or with
// what to install. Any thread.
std::string compile_kernel(const std::string& source, int compute_capability);

struct CompiledSource {
  std::string image;                         // machine code, or what the driver translates
  std::map<std::string, std::string> names;  // of the exports, as the image has them
};
// The same of a program's own source, as it stands: with its options, and without headers or options of this library.
// For the GPU, unless the options name another architecture. It is not kept.
CompiledSource compile_source(const KernelSource& source, int compute_capability);

// The module that an image is on a device. Any thread.
CUmodule load_image(CudaDevice& device, const std::string& image);

// Its function `name`; what the driver answers. Any thread.
CUresult find_function(CudaDevice& device, CUmodule module, const char* name, CUfunction& found);

// The function `name` of a source on a device. Compiled at first, if no earlier process has left it in the cache (see
// HEADRACE_CUDA_CACHE). Any thread.
CUfunction kernel_function(CudaDevice& device, const std::string& source, const char* name);

}  // namespace headrace
