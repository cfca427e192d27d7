#include "backend/cpu/host_backend.h"

#include <limits>

#include "backend/cpu/host_allocator.h"
#include "backend/cpu/parallel.h"

namespace headrace {
namespace {

class HostBackend final : public Backend {
 public:
  int device_count() const noexcept override { return std::numeric_limits<int>::max(); }
  Allocator* allocator(int id) noexcept override { return id >= 0 ? &host_allocator() : nullptr; }
  void end_threads() noexcept override { parallel_before_fork(); }
  void before_fork() noexcept override { host_allocator().lock_for_fork(); }
  void after_fork(bool in_child) noexcept override {
    host_allocator().unlock_after_fork();
    parallel_after_fork(in_child);
  }
};

}  // namespace

Backend& host_backend() {
  static HostBackend& instance = *new HostBackend();
  return instance;
}

}  // namespace headrace
