// Memory of one device. Backends implement this interface; device/registry.h finds the one of a device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headrace {

struct MemoryStats {   // bytes
  int64_t live = 0;    // handed out and not yet released, size classes included
  int64_t peak = 0;    // the largest `live` so far
  int64_t pooled = 0;  // taken from the system, free, kept for reuse
};

struct ScratchBlock {
  void* data;
  size_t bytes;  // what release() takes
};

// Under AddressSanitizer every block has memory of its own, so that the sanitizer sees its bounds and its lifetime.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kMemoryIsPooled = false;
#else
inline constexpr bool kMemoryIsPooled = true;
#endif

// Any thread may call any function. Blocks are aligned to 64 bytes at least.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Raises Error(kMemory) when the device cannot give `bytes`. Zero bytes give a valid pointer.
  virtual void* allocate(size_t bytes) = 0;
  // As allocate(), for what comes in all sizes and is soon released: a larger block that is free may serve.
  virtual ScratchBlock allocate_scratch(size_t bytes) { return {allocate(bytes), bytes}; }
  // Takes a block back. `bytes` is what it was allocated with; null is ignored.
  virtual void release(void* block, size_t bytes) noexcept = 0;
  // Gives free pooled memory back to the system.
  virtual void trim() noexcept = 0;
  virtual MemoryStats stats() const noexcept = 0;
  // The next `peak` counts from now.
  virtual void reset_peak() noexcept = 0;
};

}  // namespace headrace
