// Kernels in CUDA C++ that a program brings as text, compiled while it runs. The names are those of headrace.mxnet.rtc
// in Python.
//
//   rtc::CudaModule module(R"(
//     extern "C" __global__ void axpy(const float* x, float* y, float alpha) {
//       const int i = threadIdx.x + blockIdx.x * blockDim.x;
//       y[i] += alpha * x[i];
//     })");
//   const rtc::CudaKernel axpy = module.get_kernel("axpy", "const float* x, float* y, float alpha");
//   axpy.launch({x, y, 3.0}, y.device(), {1, 1, 1}, {10, 1, 1});
//
// Launches are operations like others: they are issued and return at once, in the order of what they read and write.
// Nothing of them is recorded for gradients. Any thread may call any function.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/device.hpp"
#include "headrace/ndarray.hpp"

namespace headrace::rtc {

class CudaKernel;
class Code;  // op/rtc.cc

using Extents = std::array<int64_t, 3>;

class CudaModule {
 public:
  // Compiled for gpu(0) now, and for others when a kernel is launched there. `options` are NVRTC's: "--std=c++17",
  // "-I/usr/local/cuda/include". `exports` are the kernels that C++ names, such as "axpy<float>"; those declared
  // extern "C" need not be told. RuntimeError: there is no NVIDIA GPU, or what the compiler says of the source.
  explicit CudaModule(std::string source, std::vector<std::string> options = {}, std::vector<std::string> exports = {});

  // `signature` lists what the kernel takes: "const float* x, double* y, int alpha", or without the names. A star means
  // an array, const one that is only read. ValueError: no kernel has this name, or a parameter is not of that form.
  // TypeError: a type that no array has.
  CudaKernel get_kernel(const std::string& name, std::string_view signature) const;

 private:
  std::shared_ptr<Code> code_;
};

// One for each parameter: an array of the parameter's dtype, on the GPU that launches, or a number.
using Argument = std::variant<NDArray, int64_t, double>;

class CudaKernel {
 public:
  // Runs `grid` blocks of `block` threads, each block with `shared_bytes` of memory beside what the kernel declares
  // with a size. An array whose elements do not lie side by side is copied before, and what was written is copied back.
  // ValueError or TypeError: what does not fit. What goes wrong while it runs is kept on the arrays that it writes.
  void launch(const std::vector<Argument>& arguments, Device device, const Extents& grid, const Extents& block,
              int64_t shared_bytes = 0) const;
  const std::string& name() const noexcept;

 private:
  friend class CudaModule;
  class Declared;
  explicit CudaKernel(std::shared_ptr<const Declared> declared) : declared_(std::move(declared)) {}

  std::shared_ptr<const Declared> declared_;
};

}  // namespace headrace::rtc
