// Memory for small objects that are made and dropped all the time: tasks, handles, storages. A thread takes from and
// gives to lists of its own without any atomic operation; a list that grows long goes, as a batch, to a depot that all
// threads share, so objects made by one thread and dropped by another circulate. Slabs never return to the system:
// the footprint is the largest number of objects alive at once, plus at most two batches per thread and size.
//
// Any thread may call any function. Under AddressSanitizer and ThreadSanitizer every object is a heap block of its
// own, so that the sanitizers see its lifetime.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace headrace {

inline constexpr size_t kSlabGranule = 64;
inline constexpr size_t kSlabLargest = 1024;  // larger objects come from the heap

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSlabOnHeap = true;
#else
inline constexpr bool kSlabOnHeap = false;
#endif

namespace slab_detail {

struct Node {
  Node* next;
  Node* next_batch;  // of the first node of a batch in the depot
};

struct List {
  Node* head;
  int count;
};

inline constexpr size_t kClasses = kSlabLargest / kSlabGranule;
[[gnu::tls_model("initial-exec")]] extern thread_local constinit List lists[kClasses];

inline constexpr int kBatch = 64;  // a thread keeps fewer than two batches

void* refill(size_t size_class);
void spill(size_t size_class) noexcept;
void* heap_allocate(size_t bytes);
void heap_release(void* object, size_t bytes) noexcept;

}  // namespace slab_detail

// Aligned to 64 bytes.
inline void* slab_allocate(size_t bytes) {
  if (kSlabOnHeap || bytes > kSlabLargest) return slab_detail::heap_allocate(bytes);
  const size_t size_class = bytes ? (bytes - 1) / kSlabGranule : 0;
  slab_detail::List& list = slab_detail::lists[size_class];
  slab_detail::Node* node = list.head;
  if (!node) [[unlikely]]
    return slab_detail::refill(size_class);
  list.head = node->next;
  --list.count;
  return node;
}

// `bytes` is what the object was allocated with.
inline void slab_release(void* object, size_t bytes) noexcept {
  if (kSlabOnHeap || bytes > kSlabLargest) {
    slab_detail::heap_release(object, bytes);
    return;
  }
  const size_t size_class = bytes ? (bytes - 1) / kSlabGranule : 0;
  slab_detail::List& list = slab_detail::lists[size_class];
  auto* node = static_cast<slab_detail::Node*>(object);
  node->next = list.head;
  list.head = node;
  if (++list.count >= 2 * slab_detail::kBatch) [[unlikely]]
    slab_detail::spill(size_class);
}

template <class T, class... Args>
T* slab_new(Args&&... args) {
  void* place = slab_allocate(sizeof(T));
  try {
    return new (place) T(std::forward<Args>(args)...);
  } catch (...) {
    slab_release(place, sizeof(T));
    throw;
  }
}

template <class T>
void slab_delete(T* object) noexcept {
  object->~T();
  slab_release(object, sizeof(T));
}

// Around fork(): no other thread holds a depot while the process is copied.
void slab_before_fork() noexcept;
void slab_after_fork() noexcept;

}  // namespace headrace
