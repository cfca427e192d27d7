// Plan: a lowered graph ready to run: steps in order, and a place in one block of memory for every intermediate value.
// Immutable once made; any number of threads may run it at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/lower.h"

namespace headrace {

class Plan {
 public:
  // `kept`: computed values whose contents the caller needs after the run; they get memory that is not used again.
  Plan(Lowered graph, std::span<const int> kept = {});

  const Lowered& graph() const noexcept { return graph_; }
  size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  size_t kept_bytes() const noexcept { return kept_bytes_; }
  double cost_ns() const noexcept { return cost_ns_; }
  // Whether a step changes the array given for input `k`.
  bool changes_input(size_t k) const noexcept { return changes_input_[k]; }
  // The arrays that are part of the graph.
  struct Constant {
    NDArray array;
    bool is_changed;
  };
  std::span<const Constant> constants() const noexcept { return constants_; }
  // Draws what the steps with random numbers need for one run, in the thread that issues it.
  struct Draws {
    SmallVector<uint64_t, 4> tickets;
    SmallVector<Var*, 4> resources;
  };
  Draws draw() const;

  // Runs all steps in this thread, which holds access to everything. `kept` is a block of kept_bytes(), or null when
  // there is nothing to keep. Everything is in the memory of `device`.
  void run(std::span<View* const> inputs, std::span<View* const> outputs, Storage* kept,
           std::span<const uint64_t> tickets, Device device = {}) const;
  // Value `id`, which lies in a block (that of the kept values, once a run filled it).
  ViewPtr view_in(int id, const StoragePtr& block) const;

 private:
  enum class Home : uint8_t { kInput, kOutput, kConstant, kScratch, kKept };
  struct Place {
    Home home = Home::kScratch;
    int index = 0;       // of the input or output
    int64_t offset = 0;  // in the block, in bytes
  };

  void find_changes();
  void place_values(std::span<const int> kept);

  Lowered graph_;
  std::vector<Place> places_;  // of roots
  std::vector<size_t> random_steps_;
  std::vector<uint8_t> changes_input_;
  std::vector<Constant> constants_;
  size_t scratch_bytes_ = 0, kept_bytes_ = 0;
  double cost_ns_ = 0;
};

}  // namespace headrace
