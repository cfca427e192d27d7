// Base of objects held by IntrusivePtr: an atomic count that starts at zero. Objects come from a per-type slab.
#pragma once

#include <atomic>
#include <cstdint>

#include "headrace/intrusive_ptr.hpp"

namespace headrace {

template <class Derived>
class RefCounted {
 public:
  RefCounted() noexcept = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  uint32_t reference_count() const noexcept { return references_.load(std::memory_order_acquire); }

  friend void add_reference(const Derived* object) noexcept {
    static_cast<const RefCounted*>(object)->references_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void release_reference(const Derived* object) noexcept {
    if (static_cast<const RefCounted*>(object)->references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      Derived::destroy(const_cast<Derived*>(object));
  }
  // Derived may hide this with its own way of giving memory back.
  static void destroy(Derived* object) noexcept { delete object; }

 private:
  mutable std::atomic<uint32_t> references_{0};
};

}  // namespace headrace
