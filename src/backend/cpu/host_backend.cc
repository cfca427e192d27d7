#include "backend/cpu/host_backend.h"

#include <limits>

#include "backend/cpu/host_allocator.h"

namespace headrace {
namespace {

class HostBackend final : public Backend {
 public:
  int device_count() const noexcept override { return std::numeric_limits<int>::max(); }
  Allocator& allocator(int) override { return host_allocator(); }
};

}  // namespace

Backend& host_backend() {
  static HostBackend& instance = *new HostBackend();
  return instance;
}

}  // namespace headrace
