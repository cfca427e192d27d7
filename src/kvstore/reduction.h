// Reduction: how arrays become one, two at a time. The named ones are operators of the catalogue, so that what a plan
// computes step by step and what one pass over host memory computes come from one formula. Immutable; any thread.
#pragma once

#include <memory>
#include <string_view>

#include "headrace/kvstore.hpp"
#include "op/pointwise.h"

namespace headrace::kvstore {

struct NamedReduction;

class Reduction {
 public:
  Reduction() : Reduction("sum") {}
  explicit Reduction(std::string_view name);  // raises ValueError that lists the names
  explicit Reduction(Combine combine) : combine_(std::move(combine)) {}

  // "custom" for a function.
  std::string_view name() const noexcept;
  // It sums, and may divide the sum: what is left out of one array can be made up for in a later one.
  bool is_linear() const noexcept;
  // Raises TypeError when arrays of this dtype cannot be reduced.
  void check_dtype(DType dtype) const;

  // The operator on two arrays of one shape; null for a function.
  const OpDef* operation() const;
  // target = target (.) source, on the device of both.
  void combine_into(const NDArray& target, const NDArray& source) const;
  // What remains to be done with the combination of so many arrays.
  void finish(const NDArray& target, size_t count) const;

  // The combination of the first `count` inputs, up to kMostAtOnce; null for a function.
  static constexpr size_t kMostAtOnce = 8;
  const Pointwise* formula(size_t count) const;
  bool divides() const noexcept;

 private:
  const NamedReduction* named_ = nullptr;
  Combine combine_;
};

}  // namespace headrace::kvstore
