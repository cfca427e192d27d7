// A reduction: {prologue formula, combination, epilogue formula}. The mean is {x, sum, s / count}, the Euclidean norm
// {x * x, sum, sqrt(s)}. Immutable once made; any thread may run it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"
#include "op/pointwise.h"
#include "ops/reduce/axes.h"
#include "ops/reduce/combine.h"

namespace headrace {

struct ReductionOptions {
  std::optional<double> initial = {};       // combined into every result
  std::optional<double> count = {};         // what the epilogue sees instead of the number of elements
  std::optional<ComputeType> type = {};     // what elements are computed in instead of reduction_compute_type
  std::span<const double> parameters = {};  // of the prologue
};

class Reduction {
 public:
  // `prologue`: of one element of each input; none: the element itself. `epilogue`: of the combined value and the
  // number of elements that went into it; none: the value itself.
  explicit Reduction(Combine combine, FormulaFn prologue = {}, FormulaFn epilogue = {});

  // Reduces over `axes` of `space`, the shape of inputs[0]; `output` has the remaining dimensions, row-major. The bits
  // of the result do not depend on the number of threads. Calls reduction_part and no other code on memory.
  void run(KernelContext& context, const Shape& space, std::span<const Operand> inputs, AxisSet axes,
           const Tensor& output, const ReductionOptions& options) const;
  // The same over one array, of any strides.
  void run(KernelContext& context, const Tensor& input, AxisSet axes, const Tensor& output,
           const ReductionOptions& options = {}) const;

  // The same of elements that `elements` computes of its inputs and that are rounded as if stored in this dtype.
  std::shared_ptr<const Reduction> of(const Formula& elements, DType dtype) const;

  Combine combine() const noexcept { return combine_; }
  const Formula& prologue() const noexcept { return prologue_; }
  const Formula& epilogue() const noexcept { return epilogue_; }  // has one parameter, the count, or none

 private:
  friend void reduce_on_host(KernelContext& context, const Reduction& reduction, const Shape& space,
                             std::span<const Operand> inputs, AxisSet axes, const Tensor& output,
                             const ReductionOptions& options);
  const Program& prologue(ComputeType type) const;
  // Null where elements are the memory itself.
  const Program* prologue_of(const Shape& space, std::span<const Operand> inputs, ComputeType type) const;
  const Program& epilogue(ComputeType type) const;

  Reduction(Combine combine, Formula prologue, Formula epilogue);

  Combine combine_;
  bool has_prologue_;
  Formula prologue_, epilogue_;
  mutable std::once_flag prologue_once_[kComputeTypeCount], epilogue_once_[kComputeTypeCount];
  mutable std::unique_ptr<const Program> prologues_[kComputeTypeCount], epilogues_[kComputeTypeCount];
};

// What Reduction::run computes.
extern const KernelPartOf<void(KernelContext& context, const Reduction& reduction, const Shape& space,
                               std::span<const Operand> inputs, AxisSet axes, const Tensor& output,
                               const ReductionOptions& options)>
    reduction_part;

// Dimensions in the order of memory, as far as that leaves the kept ones in their order; the order of the reduced ones
// does not matter.
SmallVector<size_t, 6> memory_order(const Shape& shape, const Strides& strides, AxisSet axes);

inline constexpr int64_t kFewElements = 4096;  // their computation is over before stretches of them pay

// Whether elements that are computed on the way come in stretches long enough to be worth it, or are few.
bool has_long_stretches(const Shape& space, AxisSet axes);

// What elements of one dtype are computed in when the result has another.
ComputeType reduction_compute_type(DType input, DType output) noexcept;

}  // namespace headrace
