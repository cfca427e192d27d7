// Memory straight from the system, aligned to huge pages and asking for them, so that address translation disturbs
// latencies as little as the system allows. Owned by one thread; gone when destroyed.
#pragma once

#include <cstddef>
#include <span>

namespace headrace::hardware {

inline constexpr size_t kLineBytes = 64;

class Region {
 public:
  Region() noexcept = default;
  // Pages are not touched, so they belong to the memory of the processor that writes them first. Raises MemoryError.
  explicit Region(size_t bytes);
  ~Region();
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;

  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace headrace::hardware
