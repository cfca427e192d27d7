// Sorting by unsigned keys whose order is that of the values. Any thread; large inputs are sorted on idle cores too.
// The results are unique, so they do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "device/registry.h"
#include "ops/sort/key_of.h"

namespace headrace {

// Pooled memory for n values, uninitialised.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : size_(n), data_(static_cast<T*>(allocator_of(Device{}).allocate(static_cast<size_t>(n) * sizeof(T)))) {}
  ~Scratch() { allocator_of(Device{}).release(data_, static_cast<size_t>(size_) * sizeof(T)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() noexcept { return data_; }

 private:
  int64_t size_;
  T* data_;
};

void sort_ascending(uint32_t* keys, int64_t n);
void sort_ascending(uint64_t* keys, int64_t n);
// Pairs that stand in the order of their positions.
void sort_ascending(KeyAndPosition<uint32_t>* pairs, int64_t n);
void sort_ascending(KeyAndPosition<uint64_t>* pairs, int64_t n);

}  // namespace headrace
