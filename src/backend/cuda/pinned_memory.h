// Memory of the host that GPUs read and write themselves, `cpu_pinned`: blocks that the driver has locked, kept by size
// class for reuse. Lives as long as the process; any thread may call any function.
#pragma once

#include <mutex>

#include "device/allocator.h"

namespace headrace {

// There is a driver. A device that the process uses anyway is what asks for the blocks. Raises Error when the driver
// does not give it.
Allocator& pinned_memory();
Allocator* pinned_memory_in_use() noexcept;  // null: nobody has asked for it
// Of this memory, as long as it lives.
class PinnedBlock {
 public:
  explicit PinnedBlock(size_t bytes) : bytes_(bytes), data_(pinned_memory().allocate(bytes)) {}
  ~PinnedBlock() { pinned_memory().release(data_, bytes_); }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  void* data() const noexcept { return data_; }

 private:
  const size_t bytes_;
  void* const data_;
};

// What it holds while it works; for fork().
std::mutex& pinned_memory_lock();

}  // namespace headrace
