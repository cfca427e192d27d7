// Reductions to one truth value.
#pragma once

#include <string>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

struct CloseAttrs {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = true;
  static constexpr auto kFields = fields(field(&CloseAttrs::rtol, "rtol", "Relative tolerance."),
                                         field(&CloseAttrs::atol, "atol", "Absolute tolerance."),
                                         field(&CloseAttrs::equal_nan, "equal_nan", "Whether NaN is close to NaN."));
};

// output: 1 where all elements of both inputs are close to each other, else 0
extern const KernelPartOf<void(KernelContext& context, const CloseAttrs& attrs)> are_all_close;
// output: 1, where no element of the input is 0; otherwise raises what check_constraint() raises
extern const KernelPartOf<void(KernelContext& context, const std::string& message)> check_all_true;
void check_constraint(bool holds, const std::string& message);

}  // namespace headrace
