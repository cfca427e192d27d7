// Base of objects held by IntrusivePtr: an atomic count that starts at zero. Objects come from a per-type slab.
#pragma once

#include <atomic>
#include <cstdint>

#include "headrace/intrusive_ptr.hpp"

namespace headrace {

namespace detail {

// Whoever holds the only reference, or makes the first, is alone with the count: a load and a store do, where an atomic
// change costs as much as a small kernel.
inline void add_count(std::atomic<uint32_t>& references) noexcept {
  if (references.load(std::memory_order_relaxed) == 0)
    references.store(1, std::memory_order_relaxed);
  else
    references.fetch_add(1, std::memory_order_relaxed);
}

// True when it was the last one.
inline bool drop_count(std::atomic<uint32_t>& references) noexcept {
  return references.load(std::memory_order_acquire) == 1 || references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace detail

template <class Derived>
class RefCounted {
 public:
  RefCounted() noexcept = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  uint32_t reference_count() const noexcept { return references_.load(std::memory_order_acquire); }

  friend void add_reference(const Derived* object) noexcept {
    detail::add_count(static_cast<const RefCounted*>(object)->references_);
  }
  friend void release_reference(const Derived* object) noexcept {
    if (detail::drop_count(static_cast<const RefCounted*>(object)->references_))
      Derived::destroy(const_cast<Derived*>(object));
  }
  // Derived may hide this with its own way of giving memory back.
  static void destroy(Derived* object) noexcept { delete object; }

 private:
  mutable std::atomic<uint32_t> references_{0};
};

}  // namespace headrace
