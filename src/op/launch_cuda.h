// Kernels in CUDA C++ on the stream of the work that is being launched. The text of a kernel is a header beside its
// operators, name.cuh, which cmake/cuda.cmake puts into this library; what launches it is name_cuda.cc.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/function_ref.h"
#include "device/allocator.h"
#include "headrace/dtype.hpp"

namespace headrace {

class CudaDevice;
class KernelContext;

// The device that work is being launched for.
CudaDevice& current_cuda_device() noexcept;

// The bytes of the one struct that a kernel takes, member by member.
class KernelArguments {
 public:
  template <class T>
  KernelArguments& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return add_bytes(&value, sizeof value, alignof(T));
  }
  template <class T>
  KernelArguments& add_all(std::span<const T> values) {
    for (const T& value : values) add(value);
    return *this;
  }
  KernelArguments& add_bytes(const void* data, size_t size, size_t alignment);
  // With the struct's own alignment, that of 8 bytes, at the end.
  std::span<const std::byte> bytes();
  // The same as a text, by which what depends on these members alone can be found again.
  std::string_view key();

 private:
  std::vector<std::byte> bytes_;
};

// That a thread loads or stores at once, where they lie side by side and begin at a multiple of it.
inline constexpr size_t kPackBytes = 16;
inline bool begins_pack(const void* data) { return reinterpret_cast<uintptr_t>(data) % kPackBytes == 0; }

struct KernelGrid {
  int64_t blocks;
  unsigned threads;
};

// Enough blocks for so many pieces of work, each that of one block, but no more than the device runs in a few rounds:
// kernels go on to further pieces.
int64_t blocks_for(int64_t pieces);
// For kernels whose threads work on one of so many elements, then perhaps on further ones.
KernelGrid grid_of(int64_t elements);

// What profilers call the kernel that does `work`, such as softmax.
std::string kernel_name(std::string_view work);
// `key` stands for the source, whose kernel has the name of `work`; it is asked for where the key is new.
void launch_cuda_source(std::string_view work, std::string_view key, FunctionRef<std::string()> source, KernelGrid grid,
                        std::span<const std::byte> arguments);

// A kernel: a function template of namespace headrace::device in a header, with its arguments, and the struct that it
// takes, of the same namespace.
struct CudaKernel {
  const char* header;    // "ops/reduce/softmax.cuh"
  std::string function;  // "softmax<float, 32>"; in the place of `key`
  std::string arguments;

  std::string_view work() const { return std::string_view(function).substr(0, function.find('<')); }
};
std::string source_of(const CudaKernel& kernel);

// The struct as the host sees it.
template <class Arguments>
void launch_cuda(const CudaKernel& kernel, KernelGrid grid, const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments> && sizeof(Arguments) % sizeof(int64_t) == 0);
  launch_cuda_source(
      kernel.work(), kernel.function, [&] { return source_of(kernel); }, grid, std::as_bytes(std::span(&arguments, 1)));
}

// Memory of the device that what is launched while it lives may use; what is launched behind that gets it again.
class LaunchScratch {
 public:
  LaunchScratch() = default;
  ~LaunchScratch();
  LaunchScratch(const LaunchScratch&) = delete;
  LaunchScratch& operator=(const LaunchScratch&) = delete;

  // Raises Error(kMemory).
  void* take(size_t bytes);

 private:
  std::vector<ScratchBlock> blocks_;
};

// A copy of what the host has, in workspace of the work that is being launched, for kernels that are launched next.
// Null of nothing.
const void* copy_to_device(KernelContext& context, std::span<const std::byte> bytes);

// Calls use(bytes) on a thread of the host when the stream has come here, with what lies at `there` on the device by
// then. What it raises fails the work.
void read_on_host(const void* there, size_t bytes, std::function<void(const void* bytes)> use);

// What kernels call elements of a dtype.
std::string element_name(DType dtype);
// What kernels compute in that need fractions: double for float64, else float.
const char* compute_name(DType dtype);
// Of elements that are only moved: unsigned integers of their size.
std::string bits_name(DType dtype);

}  // namespace headrace
