// Who reads what the nodes of a graph give. Any thread that may read the graph.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "op/node.h"

namespace headrace {

struct Reader {
  Node* node;       // null: it is a result of the graph
  uint32_t output;  // which of the outputs it reads
};

class Readers {
 public:
  explicit Readers(std::span<const NDArray> heads);
  // One for each time that an output of `node` is read, results of the graph last.
  std::span<const Reader> of(const Node* node) const;

 private:
  std::unordered_map<const Node*, std::vector<Reader>> all_;
};

}  // namespace headrace
