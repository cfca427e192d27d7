#include "hardware/region.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "base/check.h"

namespace headrace::hardware {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

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

}  // namespace headrace::hardware
