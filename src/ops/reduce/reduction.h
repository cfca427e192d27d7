// A reduction: {prologue formula, combination, epilogue formula}. The mean is {x, sum, s / count}, the Euclidean norm
// {x * x, sum, sqrt(s)}. Immutable once made; any thread may run it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "op/op_def.h"
#include "op/pointwise.h"
#include "ops/reduce/axes.h"
#include "ops/reduce/combine.h"

namespace headrace {

struct ReductionOptions {
  std::optional<double> initial = {};    // combined into every result
  std::optional<double> count = {};      // what the epilogue sees instead of the number of elements
  std::optional<ComputeType> type = {};  // what elements are computed in instead of reduction_compute_type
};

class Reduction {
 public:
  // `prologue`: of one element of each input; none: the element itself. `epilogue`: of the combined value and the
  // number of elements that went into it; none: the value itself.
  explicit Reduction(Combine combine, FormulaFn prologue = {}, FormulaFn epilogue = {});

  // Reduces over `axes` of `space`, the shape of inputs[0]; `output` has the remaining dimensions, row-major. The bits
  // of the result do not depend on the number of threads.
  void run(KernelContext& context, const Shape& space, std::span<const Operand> inputs, AxisSet axes,
           const Tensor& output, const ReductionOptions& options) const;
  // The same over one array, of any strides.
  void run(KernelContext& context, const Tensor& input, AxisSet axes, const Tensor& output,
           const ReductionOptions& options = {}) const;

  Combine combine() const noexcept { return combine_; }

 private:
  const Program& prologue(ComputeType type) const;
  const Program& epilogue(ComputeType type) const;

  Combine combine_;
  bool has_prologue_;
  Formula prologue_, epilogue_;
  mutable std::once_flag prologue_once_[kComputeTypeCount], epilogue_once_[kComputeTypeCount];
  mutable std::unique_ptr<const Program> prologues_[kComputeTypeCount], epilogues_[kComputeTypeCount];
};

// What elements of one dtype are computed in when the result has another.
ComputeType reduction_compute_type(DType input, DType output) noexcept;

}  // namespace headrace
