// Kernels whose source text a program brings: compiled for a device while the program runs.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace {

struct KernelSource {
  std::string text;
  std::vector<std::string> options;  // of the compiler
  std::vector<std::string> exports;  // kernels that C++ names, such as "axpy<float>"; those of C need not be told
};

// Blocks, and threads of each, along three axes.
struct LaunchExtents {
  std::array<unsigned, 3> blocks, threads;
  unsigned shared_bytes = 0;  // of each block, beside what the kernel declares with a size
};

class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Puts one launch on the device, as part of the work that is being launched on its stream of operations. `arguments`
  // lie as the members of a struct do.
  virtual void launch(const LaunchExtents& extents, std::span<const std::byte> arguments) const = 0;
};

// What one source became on one device.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  // Keeps the module. Null: none has this name. Raises Error(kRuntime). Any thread.
  virtual std::shared_ptr<const DeviceKernel> find(const std::string& name) = 0;
};

}  // namespace headrace
