// CompiledGraph: a lowered graph ready to run: steps in order, and a place in one block of memory for every
// intermediate value. Immutable once made; any number of threads may run it at once.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "device/recurrence.h"
#include "graph/lower.h"

namespace headrace {

class CompiledGraph {
 public:
  // An input that lies in a block of which a run may make its scratch: values take the place of inputs that no later
  // step reads.
  struct InputInBlock {
    size_t input;
    int64_t offset, bytes;
  };

  // `kept`: computed values whose contents the caller needs after the run; they get memory that is not used again.
  // `segment_ns`: the graph is cut where outputs are complete, into segments of at least this estimated time.
  // `block`: what lies in the block that overwriting runs are given.
  CompiledGraph(Lowered graph, std::span<const int> kept = {},
                double segment_ns = std::numeric_limits<double>::infinity(), std::span<const InputInBlock> block = {});

  const Lowered& graph() const noexcept { return graph_; }
  // Of runs that have memory of their own.
  size_t scratch_bytes() const noexcept { return own_.bytes; }
  // How large the block is whose inputs a run overwrites, those included; 0: no inputs lie in one.
  size_t block_bytes() const noexcept { return overwriting_.bytes; }
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

  // Steps that may run as a task of their own, after those of the segments before.
  struct Segment {
    size_t begin = 0, end = 0;  // of the steps
    double cost_ns = 0;
    double flops = 0;                             // see Infer
    double bytes = 0;                             // read and written by its steps
    std::vector<size_t> inputs = {};              // that it looks at
    std::vector<size_t> reads = {}, writes = {};  // outputs: written by earlier segments and read here; written here
    RecurrencePtr recurrence = {};                // null: each run draws other numbers
  };
  std::span<const Segment> segments() const noexcept { return segments_; }

  // Where the intermediate values of a run lie.
  enum class Scratch : uint8_t { kOwn, kOverInputs };

  // Memory for the intermediate values of one run on a device; null: it needs none.
  StoragePtr make_scratch(Device device) const;
  // Runs all steps in this thread, which holds access to everything. `kept` is a block of kept_bytes(), or null when
  // there is nothing to keep. Everything is in the memory of one device.
  void run(std::span<View* const> inputs, std::span<View* const> outputs, Storage* kept,
           std::span<const uint64_t> tickets, Device device = {}) const;
  // The same for one segment; all of them get the same arguments. `scratch`: what make_scratch() gives, or with
  // kOverInputs the block in which inputs lie.
  void run_segment(const Segment& segment, std::span<View* const> inputs, std::span<View* const> outputs, Storage* kept,
                   std::span<const uint64_t> tickets, const StoragePtr& scratch, Scratch kind = Scratch::kOwn) const;
  // The kept value `id`, in the block that a run filled.
  ViewPtr kept_view(int id, const StoragePtr& block) const;
  // Where the array lies in that block of which the kept value `id` is a part, as input number `input` of another
  // graph.
  InputInBlock kept_place(int id, size_t input) const;

 private:
  enum class Home : uint8_t { kInput, kOutput, kConstant, kScratch, kKept };
  struct Place {
    Home home = Home::kScratch;
    int index = 0;       // of the input or output
    int64_t offset = 0;  // of a kept value, in bytes
  };
  // Where scratch lies: offsets of roots, in bytes.
  struct Layout {
    std::vector<int64_t> offsets;
    size_t bytes = 0;
  };

  void find_changes();
  void find_recurrences();
  std::vector<uint64_t> arguments_of(const Segment& segment, std::span<View* const> inputs,
                                     std::span<View* const> outputs, Storage* kept, const StoragePtr& scratch,
                                     Scratch kind) const;
  std::vector<uint8_t> place_values(std::span<const int> kept);
  Layout lay_out(const std::vector<uint8_t>& is_scratch, std::span<const InputInBlock> block) const;
  ViewPtr view_at(int id, const StoragePtr& block, int64_t offset) const;
  void cut(double segment_ns);

  Lowered graph_;
  std::vector<Place> places_;  // of roots
  std::vector<Segment> segments_;
  std::vector<size_t> random_steps_;
  std::vector<const char*>
      labels_;  // of the steps in recordings, which outlive operators that were made for this graph
  std::vector<uint8_t> changes_input_;
  std::vector<Constant> constants_;
  Layout own_, overwriting_;
  size_t kept_bytes_ = 0;
  double cost_ns_ = 0;
};

}  // namespace headrace
