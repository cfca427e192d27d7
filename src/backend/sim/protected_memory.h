// Memory of strict simulated GPUs. Blocks have pages of their own that no thread can touch while no device code is
// running that has opened them; a touch ends the process and says what was touched. What is in no use holds garbage.
// One per machine; any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "headrace/device.hpp"

namespace headrace {

class ProtectedMemory {
 public:
  // NaN in every type of floating point, -1 in integers.
  static constexpr unsigned char kGarbage = 0xFF;

  // Watches for touches from now on; the object lives as long as the process.
  ProtectedMemory();

  // A free block, aligned to a page. The bytes before it, as many as a page has, are the caller's and not protected.
  // Raises Error(kMemory).
  void* make(Device device, size_t bytes);
  void remove(void* block) noexcept;
  void hand_out(const void* block) noexcept;
  void take_back(const void* block) noexcept;

  // Lets all threads touch the block that holds an address until it has been closed as often. Raises Error where there
  // is no block, or one that has been given back.
  void open(const void* address);
  void close(const void* address) noexcept;

  // For the handler of SIGSEGV. Ends the process for an address in a block, returns for others.
  void report(const void* address) noexcept;

  // Around fork(): no other thread holds the lock while the process is copied.
  void lock_for_fork() noexcept { mutex_.lock(); }
  void unlock_after_fork() noexcept { mutex_.unlock(); }

 private:
  struct Block {
    Device device;
    size_t bytes;  // whole pages
    int opened = 0;
    bool is_in_use = false;
  };
  using Blocks = std::map<uintptr_t, Block>;  // by address

  Blocks::iterator find(const void* address) noexcept;  // with the mutex held

  std::mutex mutex_;
  Blocks blocks_;  // guarded by mutex_
};

}  // namespace headrace
