// Why the program took as long as it did: the chain of operations in which each began because the one before had ended.
//
// Every operation that ended is a node with one cause: what it waited for last. Nodes that nothing can go back to any
// more are forgotten; what all chains have in common is summed up. So memory grows with what is still undecided only.
// One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::sim {

struct PathStep {
  const char* name;
  int stream;
  int64_t begin_ps, end_ps;
};

struct PathTotal {
  int64_t count = 0, time_ps = 0;
};

struct PathSummary {
  std::map<std::pair<std::string_view, int>, PathTotal> totals;  // by name and stream
  std::deque<PathStep> newest;                                   // at most kMostSteps, in order of time
};

class CriticalPath {
 public:
  using Node = int;
  static constexpr Node kBeginning = 0;  // of the program; held once from the start
  static constexpr size_t kMostSteps = 1000;

  CriticalPath();

  // Held once, for the caller.
  Node add(const PathStep& step, Node cause);
  void hold(Node node) { ++nodes_[node].holds; }
  void release(Node node);

  // From the beginning to `node`, which is held.
  PathSummary to(Node node) const;
  // Nodes in memory.
  size_t size() const noexcept { return nodes_.size() - free_.size(); }

 private:
  struct Entry {
    PathStep step;
    Node cause;
    int holds = 1;
    int children = 0;
    Node any_child = 0;  // the exclusive or of all: the child itself where there is one
  };

  void sum_up_trunk();

  std::vector<Entry> nodes_;
  std::vector<Node> free_;
  Node root_ = kBeginning;
  PathSummary trunk_;  // what was before the root, the root included
};

}  // namespace headrace::sim
