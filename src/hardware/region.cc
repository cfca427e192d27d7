#include "hardware/region.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"

namespace headrace::hardware {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    constexpr std::string_view kKey = "MemAvailable:";
    if (line.starts_with(kKey)) return static_cast<size_t>(std::stoull(line.substr(kKey.size()))) * 1024;
  }
  return std::numeric_limits<size_t>::max();
}

}  // namespace

Region::Region(size_t bytes) : mapped_(bytes + kHugePage), size_(bytes) {
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    fail(ErrorKind::kMemory, "hardware: the system gives no {} MiB of memory", bytes >> 20);
  }
  const auto address = reinterpret_cast<uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + ((address + kHugePage - 1) / kHugePage * kHugePage - address);
  madvise(data_, size_, MADV_HUGEPAGE);  // a wish
}

Region::~Region() {
  if (mapping_) munmap(mapping_, mapped_);
}

Region::Region(Region&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

size_t available_memory() {
  size_t available = machine_available(), limit = 0, used = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && std::ifstream("/sys/fs/cgroup/memory.current") >> used)
    available = std::min(available, limit > used ? limit - used : 0);
  return available;
}

}  // namespace headrace::hardware
