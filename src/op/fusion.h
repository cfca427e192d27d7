// Fusion: pointwise work just before an operation (a reduction, a dense layer), its prologue, and just after it, its
// epilogue, which the graph compiler moves into it. Values; any thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ndarray/view.h"
#include "op/formula/expr.h"
#include "op/formula/opcode.h"
#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace {

struct Fusion {
  // Computes the elements in the place of an array that is stored no more. Its inputs come first among those of the
  // operator that results; they are broadcast to the shape of the elements. Only for operators of one input.
  struct Prologue {
    Formula formula;  // one output
    std::vector<double> parameters;
    ComputeType type;
    std::vector<ViewPtr> inputs;  // their types
  };
  // Computes the outputs from the operation's own result as it would have been stored.
  struct Epilogue {
    static constexpr int kResult = -1;
    std::shared_ptr<const Pointwise> formula;
    std::vector<double> parameters;
    ComputeType type;
    // What each input of the formula is: kResult, or the number of an array that follows the inputs of the operation
    // and is packed, with the shape of the result, or one element.
    std::vector<int> inputs;

    // How many arrays follow.
    size_t further() const noexcept;
    // Fills the outputs of `context` from `result`, packed elements of type `stored`, which may be the memory of the
    // first output. `first`: the place of the first further array among the inputs.
    void run(KernelContext& context, const void* result, DType stored, size_t first) const;
  };
  ViewPtr data;  // the type of the first input of the operation alone
  DType result;  // what it alone gives
  std::optional<Prologue> prologue;
  std::optional<Epilogue> epilogue;
};

}  // namespace headrace
