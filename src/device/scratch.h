// Memory of a device that a piece of work needs while it runs and that belongs to the work until the host has taken
// note of its end. Owned by the work; one thread at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "device/allocator.h"
#include "headrace/device.hpp"

namespace headrace {

class Scratch {
 public:
  explicit Scratch(Device device) noexcept : device_(device) {}
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Aligned as blocks of the device's allocator are. Raises Error(kMemory).
  void* take(size_t bytes);
  // What comes behind the last use of a block, on the same stream, may take it.
  void give_back(const void* block) noexcept;
  size_t bytes() const noexcept;  // of all blocks
  // Nothing runs any more that uses the blocks.
  void release() noexcept;

 private:
  struct Block {
    void* data;
    size_t bytes;
    bool is_taken;
  };

  const Device device_;
  std::vector<Block> blocks_;
};

// Scratch for a kernel: of the work that the calling thread is launching or running, or on the host, where who takes it
// gives it back. Device code that is running may touch it until it ends. Raises Error(kMemory).
ScratchBlock take_scratch(size_t bytes);
void give_back_scratch(ScratchBlock block) noexcept;

}  // namespace headrace
