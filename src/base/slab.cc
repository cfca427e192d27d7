#include "base/slab.h"

#include "base/spin_lock.h"

namespace headrace {
namespace slab_detail {

// The thread's lists have constant initialisation and no destructor, so using them needs no guard.
thread_local constinit List lists[kClasses] = {};

namespace {

constexpr size_t kChunkBytes = 64 * 1024;

struct alignas(64) Depot {
  SpinLock lock;
  Node* batches = nullptr;  // guarded by lock; linked through next_batch
};

Depot* depots() {
  static Depot* const instance = new Depot[kClasses];
  return instance;
}

void put_batch(size_t size_class, Node* batch) noexcept {
  Depot& depot = depots()[size_class];
  depot.lock.lock();
  batch->next_batch = depot.batches;
  depot.batches = batch;
  depot.lock.unlock();
}

Node* take_batch(size_t size_class) noexcept {
  Depot& depot = depots()[size_class];
  depot.lock.lock();
  Node* batch = depot.batches;
  if (batch) depot.batches = batch->next_batch;
  depot.lock.unlock();
  return batch;
}

Node* carve_chunk(size_t size_class) {
  const size_t bytes = (size_class + 1) * kSlabGranule;
  char* chunk = static_cast<char*>(::operator new (kChunkBytes, std::align_val_t{kSlabGranule}));
  const size_t count = kChunkBytes / bytes;
  // All but the first batch of the chunk go to the depot, so that no thread hoards them.
  Node* first = nullptr;
  Node* batch = nullptr;
  for (size_t i = 0; i < count; ++i) {
    Node* node = reinterpret_cast<Node*>(chunk + i * bytes);
    node->next = batch;
    batch = node;
    if ((i + 1) % kBatch == 0 || i + 1 == count) {
      if (first)
        put_batch(size_class, batch);
      else
        first = batch;
      batch = nullptr;
    }
  }
  return first;
}

// Gives what an ending thread holds to the others. Made when a thread first takes from a depot or gives to it.
struct AtThreadExit {
  ~AtThreadExit() {
    for (size_t i = 0; i < kClasses; ++i) {
      if (lists[i].head) put_batch(i, lists[i].head);
      lists[i] = {};
    }
  }
};

void watch_thread_exit() noexcept {
  thread_local AtThreadExit at_exit;
  static_cast<void>(at_exit);
}

}  // namespace

void* refill(size_t size_class) {
  watch_thread_exit();
  Node* batch = take_batch(size_class);
  if (!batch) batch = carve_chunk(size_class);
  int count = 0;
  for (Node* node = batch->next; node; node = node->next) ++count;
  lists[size_class] = {batch->next, count};
  return batch;
}

void spill(size_t size_class) noexcept {
  watch_thread_exit();
  List& list = lists[size_class];
  Node* batch = list.head;
  Node* last = batch;
  for (int i = 1; i < kBatch; ++i) last = last->next;
  list.head = last->next;
  list.count -= kBatch;
  last->next = nullptr;
  put_batch(size_class, batch);
}

void* heap_allocate(size_t bytes) { return ::operator new (bytes, std::align_val_t{kSlabGranule}); }

void heap_release(void* object, size_t bytes) noexcept {
  ::operator delete (object, bytes, std::align_val_t{kSlabGranule});
}

}  // namespace slab_detail

void slab_before_fork() noexcept {
  for (size_t i = 0; i < slab_detail::kClasses; ++i) slab_detail::depots()[i].lock.lock();
}

void slab_after_fork() noexcept {
  for (size_t i = 0; i < slab_detail::kClasses; ++i) slab_detail::depots()[i].lock.unlock();
}

}  // namespace headrace
