// Carries out a communication plan on arrays: pushes a copy or a reduction to the engine for each step, in the plan's
// order, and returns. Steps touch views of arrays, so the order that a plan asks for follows from what they read and
// write, and steps of different plans interleave as their arrays allow. Steps on parts of one array are ordered more
// strictly than the plan demands: an array has one Var.
//
// Belongs to one thread at a time.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "kvstore/communication_plan.h"
#include "kvstore/reduction.h"

namespace headrace::kvstore {

class Executor {
 public:
  // Raises ValueError unless the plan's ranges begin and end at elements of `dtype`, and every step that reads scratch
  // memory reads what one step wrote.
  Executor(CommunicationPlan plan, DType dtype);

  const CommunicationPlan& plan() const noexcept { return plan_; }
  // Whether a step writes the buffer of that device of the topology.
  bool writes(int device) const { return written_[static_cast<size_t>(device)]; }

  // `buffers`: slot 0 of the plan's devices, in the order of plan().devices(): packed arrays of the plan's size, each
  // on its device. The steps change them in place. Scratch memory is made at the first call and kept.
  void run(std::span<const NDArray> buffers, const Reduction& reduction);

 private:
  // Part of a place. Each has memory of its own, so that writing it makes up for an error of an earlier run.
  using Part = std::pair<Place, Range>;
  using Scratch = std::map<Part, NDArray>;

  // Scratch memory is used in turn, so that the copies of one run need not wait for the last sums of the one before.
  static constexpr size_t kScratchSets = 2;

  bool is_given(Place place) const;  // the buffer of one of the plan's devices
  Scratch make_scratch() const;

  CommunicationPlan plan_;
  DType dtype_;
  std::vector<bool> written_;  // by device of the topology
  std::vector<Scratch> sets_;
  size_t runs_ = 0;
};

}  // namespace headrace::kvstore
