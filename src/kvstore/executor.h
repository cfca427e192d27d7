// Carries out a communication plan on arrays: pushes a copy or a reduction to the engine for each step, in the plan's
// order, and returns.
//
// Steps on parts of one array have to run at the same time: a device sends one part while another arrives. So every
// part has a Var of its own for the time of a run. A task that takes the array begins the run, and one that gives it
// back ends it; what else is done with the array comes before or after both. Functions as reductions know arrays alone:
// with them the steps are operations on views, ordered by the arrays they touch.
//
// Belongs to one thread at a time.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "headrace/communicator.hpp"
#include "kvstore/communication_plan.h"

namespace headrace::kvstore {

class Executor {
 public:
  // Raises ValueError unless the plan's ranges begin and end at elements of `dtype`, the ranges of one place are equal
  // or apart, and every step that reads scratch memory reads what one step wrote.
  Executor(CommunicationPlan plan, DType dtype);

  const CommunicationPlan& plan() const noexcept { return plan_; }
  // Whether a step writes the buffer of that device of the topology.
  bool writes(int device) const { return written_[static_cast<size_t>(device)]; }

  // `buffers`: slot 0 of the plan's devices, in the order of plan().devices(): packed arrays of the plan's size, each
  // on its device. The steps change them in place. Every run has scratch memory of its own: runs wait for each other
  // only where they share buffers. `kept`: which buffers keep their values and have no error when the run fails, of
  // those that the plan writes whole; none when empty.
  void run(std::span<const NDArray> buffers, const Reduction& reduction, const std::vector<bool>& kept = {});

 private:
  // Part of a place. Each part of scratch memory is an array.
  using Part = std::pair<Place, Range>;
  using Parts = std::map<Part, NDArray>;

  bool is_given(Place place) const;  // the buffer of one of the plan's devices
  void check_buffers(std::span<const NDArray> buffers) const;
  // The arrays that steps touch: views of the buffers, and scratch memory.
  Parts parts_of(std::span<const NDArray> buffers) const;
  Parts make_scratch() const;
  void run_parts(std::span<const NDArray> buffers, const Parts& parts, const Reduction& reduction,
                 const std::vector<bool>& kept) const;

  CommunicationPlan plan_;
  DType dtype_;
  std::vector<bool> written_;  // by device of the topology: a step writes its buffer
  std::vector<bool> given_;    // likewise: the steps write all of it and read nothing that was there before
};

}  // namespace headrace::kvstore
