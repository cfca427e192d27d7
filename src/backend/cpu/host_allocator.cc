#include "backend/cpu/host_allocator.h"

#include <atomic>
#include <cstdlib>

#include "base/check.h"
#include "base/config.h"

namespace headrace {
namespace {

constexpr size_t kAlignment = 64;

class HostAllocator final : public Allocator {
 public:
  void* allocate(size_t bytes) override {
    const size_t rounded = round(bytes);
    check(bytes <= static_cast<size_t>(physical_memory()), ErrorKind::kMemory, "cannot allocate {} bytes", bytes);
    void* block = std::aligned_alloc(kAlignment, rounded);
    check(block, ErrorKind::kMemory, "cannot allocate {} bytes", bytes);
    const int64_t now = live_.fetch_add(static_cast<int64_t>(rounded)) + static_cast<int64_t>(rounded);
    for (int64_t peak = peak_; now > peak && !peak_.compare_exchange_weak(peak, now);) {
    }
    return block;
  }
  void release(void* block, size_t bytes) noexcept override {
    if (!block) return;
    live_ -= static_cast<int64_t>(round(bytes));
    std::free(block);
  }
  void trim() noexcept override {}
  MemoryStats stats() const noexcept override { return {live_, peak_, 0}; }
  void reset_peak() noexcept override { peak_ = live_.load(); }

 private:
  static size_t round(size_t bytes) { return (bytes + kAlignment) / kAlignment * kAlignment; }
  std::atomic<int64_t> live_{0}, peak_{0};
};

}  // namespace

Allocator& host_allocator() {
  static HostAllocator& instance = *new HostAllocator();
  return instance;
}

}  // namespace headrace
