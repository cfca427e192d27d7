#include "engine/thread_context.h"

#include <algorithm>
#include <mutex>

namespace headrace {
namespace {

std::atomic<uint64_t> next_registry_id{1};

thread_local constinit bool thread_ends = false;

}  // namespace

thread_local constinit ThreadRegistry::Cached ThreadRegistry::cached_ = {};

// The contexts of this thread, one per engine it has used; more than one only where several engines exist.
struct ThreadRegistry::OwnContexts {
  struct Entry {
    uint64_t registry;
    std::shared_ptr<ThreadContext> context;
  };
  std::vector<Entry> entries;

  ~OwnContexts() {
    thread_ends = true;
    cached_ = {};
    for (Entry& entry : entries) entry.context->dead.store(true, std::memory_order_release);
  }
};

ThreadRegistry::OwnContexts& ThreadRegistry::own_contexts() {
  thread_local OwnContexts own;
  return own;
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
  // Destructors of other thread-local objects may still push; their context is not given to anyone else.
  if (thread_ends) return *revive_or_make();
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
