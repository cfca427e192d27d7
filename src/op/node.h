// Node: an operator applied to inputs. The autograd tape is made of Nodes; tracing links the same Nodes without running
// them.
//
// Shared by the arrays it produced and by the nodes that read them; belongs to the threads that record. A leaf has no
// operator: it is a variable whose gradient somebody asked for.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/slab.h"
#include "headrace/ndarray.hpp"
#include "ndarray/view.h"
#include "op/attrs.h"
#include "op/gradient.h"

namespace headrace {

struct OpDef;
class Gradient;

// What a node of a symbol has beside its operation. Texts are kept as they were written, because files carry them.
struct NodeLabel {
  std::string name;
  std::map<std::string, std::string> attrs;     // attributes given to the operator, and the node's own: "__shape__"
  std::vector<std::vector<NDArray>> subgraphs;  // bodies of control flow: the outputs of each
  std::vector<uint32_t> versions;               // third numbers of the inputs in the file that it was read from
};

enum class GradReq : uint8_t { kNull = 0, kWrite = 1, kAdd = 3 };  // MXNet's numbers

class Node {
 public:
  // Backward step of a node without operator.
  using Custom = std::function<void(Gradient&)>;

  const uint64_t sequence = next_sequence();  // an input is always older than its user
  const OpDef* op = nullptr;
  AttrsPtr attrs;
  std::vector<NDArray> inputs;   // with their own places on the tape; abstract where the gradient needs only the type
  std::vector<ViewPtr> outputs;  // kept where the gradient needs them, abstract otherwise
  Custom custom;
  bool starts_gradient = false;  // as of an operator; of one that is custom
  uint64_t freed_at = 0;         // when backward went through it without retain_graph, among sequences; 0: it did not

  std::unique_ptr<NodeLabel> label;  // of a symbol; without operator: a variable

  bool is_leaf = false;
  NDArray gradient;  // of a leaf
  GradReq request = GradReq::kNull;
  bool is_fresh = false;  // the gradient was written since it was last used

  bool is_freed() const noexcept { return freed_at != 0; }
  // Drops everything backward needs.
  void free() noexcept;

  static void* operator new(size_t size) { return slab_allocate(size); }
  static void operator delete(void* pointer, size_t size) noexcept { slab_release(pointer, size); }

 private:
  static uint64_t next_sequence() noexcept;
  friend void add_reference(const Node* node) noexcept;
  friend void release_reference(const Node* node) noexcept;
  mutable std::atomic<uint32_t> references_{0};
};

using NodePtr = IntrusivePtr<Node>;

// What made an array while it was recorded, or its leaf. Null where it is a constant: also once backward has freed what
// made it.
inline Node* place_on_tape(const NDArray& array) noexcept {
  Node* const node = array.node().get();
  return node && !node->is_freed() ? node : nullptr;
}

// Shape, dtype and device of an array, without its storage.
NDArray abstract_of(const NDArray& array);

}  // namespace headrace
