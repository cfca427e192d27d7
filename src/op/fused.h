// Several pointwise operations over the same elements as one operator, which reads and writes memory once. What one
// part computes and another reads is rounded as if it had been stored between them, so fusing changes no bit.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "op/op_def.h"
#include "op/pointwise.h"

namespace headrace {

// The most that one fused operator takes: a tile of each array has to stay in the first-level cache.
inline constexpr size_t kMostFusedArrays = 12;
inline constexpr size_t kMostFusedParameters = 24;
inline constexpr size_t kMostFusedParts = 32;

// A pointwise operator that changes none of its inputs.
inline bool is_plain_pointwise(const OpDef& op) noexcept { return op.pointwise && op.mutates == kNothing; }
// Whether an operator can be part of a fused one.
inline bool is_fusible(const OpDef& op) noexcept { return is_plain_pointwise(op) && op.outputs == 1; }

// Builds a fused operator. Arrays are numbered in the order in which they are added, inputs and results alike; the
// operator's inputs are those of add_input(), its attributes the numeric ones of the parts, in the order of the parts.
class FusedBuilder {
 public:
  int add_input();
  // The result of `op`, an array of `dtype`.
  int add(const OpDef& op, std::span<const int> inputs, DType dtype);
  // The array becomes the next output of the operator.
  void store(int array);
  // Operators of equal formulas are one, as long as anybody has it.
  std::shared_ptr<const OpDef> make();

 private:
  struct Array {
    Expr value;   // as computed
    Expr stored;  // as it reads after being stored
  };
  std::vector<Array> arrays_;
  std::vector<Expr> outputs_;
  int inputs_ = 0, parameters_ = 0;
};

// The attributes of a fused operator.
AttrsPtr fused_attrs(std::span<const double> parameters);
// Appends the numeric attributes of a pointwise operator, as a fused one wants them.
void append_parameters(const Pointwise& body, const Attrs& attrs, SmallVector<double, 8>& parameters);

}  // namespace headrace
