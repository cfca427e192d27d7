#include "engine/thread_context.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "base/check.h"

namespace headrace {
namespace {

std::atomic<uint64_t> next_registry_id{1};

}  // namespace

thread_local constinit ThreadRegistry::Cached ThreadRegistry::cached_ = {};

// The contexts of this thread, one per engine it has used; more than one only where several engines exist. They go with
// a pthread key, after the thread's thread_local variables, whose destructors may still push; those of the main thread
// stay, as what its process does at exit may push, too.
struct ThreadRegistry::OwnContexts {
  struct Entry {
    uint64_t registry;
    std::shared_ptr<ThreadContext> context;
  };
  std::vector<Entry> entries;

  ~OwnContexts() {
    cached_ = {};
    for (Entry& entry : entries) entry.context->dead.store(true, std::memory_order_release);
  }
};

ThreadRegistry::OwnContexts& ThreadRegistry::own_contexts() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    const int error = pthread_key_create(&made, [](void* own) { delete static_cast<OwnContexts*>(own); });
    check(error == 0, ErrorKind::kRuntime, "engine: the process has no pthread key left for it");
    return made;
  }();
  if (void* const own = pthread_getspecific(key)) return *static_cast<OwnContexts*>(own);
  auto made = std::make_unique<OwnContexts>();
  check(pthread_setspecific(key, made.get()) == 0, ErrorKind::kMemory, "engine: no memory for a thread that uses it");
  return *made.release();
}

ThreadRegistry::ThreadRegistry() : id_(next_registry_id.fetch_add(1, std::memory_order_relaxed)) {}

ThreadRegistry::~ThreadRegistry() {
  for (Node* node = newest_.load(); node;) {
    Node* const older = node->older;
    delete node;
    node = older;
  }
}

std::shared_ptr<ThreadContext> ThreadRegistry::revive_or_make() {
  std::lock_guard guard(lock_);
  for (Node* node = newest_.load(std::memory_order_relaxed); node; node = node->older) {
    if (!node->context->dead.load(std::memory_order_acquire)) continue;
    node->context->group = nullptr;
    node->context->is_pusher.store(false, std::memory_order_relaxed);
    node->context->dead.store(false, std::memory_order_release);
    return node->context;
  }
  auto context = std::make_shared<ThreadContext>();
  newest_.store(new Node{context, newest_.load(std::memory_order_relaxed)}, std::memory_order_release);
  return context;
}

ThreadContext& ThreadRegistry::find_or_make() {
  auto& entries = own_contexts().entries;
  auto known = std::ranges::find(entries, id_, &OwnContexts::Entry::registry);
  if (known == entries.end()) {
    // Contexts that only this thread holds belong to engines that are gone.
    std::erase_if(entries, [](const auto& entry) { return entry.context.use_count() == 1; });
    entries.push_back({id_, revive_or_make()});
    known = entries.end() - 1;
  }
  cached_ = {id_, known->context.get()};
  return *known->context;
}

void ThreadRegistry::forget_other_threads() noexcept {
  ThreadContext& own = current();
  visit([&](ThreadContext& context) {
    if (&context != &own) context.dead.store(true, std::memory_order_relaxed);
  });
}

}  // namespace headrace
