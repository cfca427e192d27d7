// Surroundings: pointwise work just before and just after a reduction, which the graph compiler moves into it. Values;
// any thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ndarray/view.h"
#include "op/formula/expr.h"
#include "op/formula/opcode.h"
#include "op/op_def.h"

namespace headrace {

struct Surroundings {
  // Computes the elements in the place of an array that is stored no more. Its inputs come first among those of the
  // operator that results; they are broadcast to the shape of the elements.
  struct Before {
    Formula formula;  // one output
    std::vector<double> parameters;
    ComputeType type;
    std::vector<ViewPtr> inputs;  // their types
  };
  // Computes the outputs from the reduced values as they would have been stored.
  struct After {
    static constexpr int kReduced = -1;
    std::shared_ptr<const Pointwise> formula;
    std::vector<double> parameters;
    ComputeType type;
    // What each input of the formula is: kReduced, or the number of an array that follows the inputs of the reduction
    // and is packed, with the shape of the result, or one element.
    std::vector<int> inputs;
  };
  ViewPtr elements;  // the type of the array that is reduced
  DType reduced;     // what the reduction alone gives
  std::optional<Before> before;
  std::optional<After> after;
};

}  // namespace headrace
