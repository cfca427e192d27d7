#include "op/node.h"

namespace headrace {
namespace {

// Nodes whose last reference went while another node was being destroyed; destroyed in a loop, because a tape may be
// hundreds of thousands of nodes deep.
thread_local std::vector<const Node*>* doomed = nullptr;

}  // namespace

void add_reference(const Node* node) noexcept { node->references_.fetch_add(1, std::memory_order_relaxed); }

void release_reference(const Node* node) noexcept {
  if (node->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (doomed) {
    doomed->push_back(node);
    return;
  }
  std::vector<const Node*> list{node};
  doomed = &list;
  while (!list.empty()) {
    const Node* next = list.back();
    list.pop_back();
    delete next;
  }
  doomed = nullptr;
}

uint64_t Node::next_sequence() noexcept {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed);
}

void Node::free() noexcept {
  inputs.clear();
  outputs.clear();
  custom = nullptr;
  freed_at = next_sequence();
}

NDArray abstract_of(const NDArray& array) { return NDArray(ViewPtr(new View(nullptr, array.dtype(), array.shape()))); }

}  // namespace headrace
