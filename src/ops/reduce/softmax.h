// softmax, log_softmax and softmin, and their backward operators.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

struct SoftmaxAttrs {
  int64_t axis = -1;
  std::optional<double> temperature = {};
  std::optional<DType> dtype = {};
  bool use_length = false;
  static constexpr auto kFields =
      fields(field(&SoftmaxAttrs::axis, "axis", "Axis to normalise along; negative counts from the end."),
             field(&SoftmaxAttrs::temperature, "temperature", "Divides the elements first; None: 1."),
             field(&SoftmaxAttrs::dtype, "dtype", "dtype of the result; None: that of the input."),
             field(&SoftmaxAttrs::use_length, "use_length",
                   "Take only so many leading elements of each row as `length` says."));
};

enum class SoftmaxKind : uint8_t { kSoftmax, kLogSoftmax };

// Factor on the input of attributes `a`; softmin turns the sign round.
double softmax_scale(const SoftmaxAttrs& a, bool negate);

// inputs: data [, length]; the masked tail of a row gives 0.
extern const KernelPartOf<void(KernelContext& context, SoftmaxKind kind, int64_t axis, double scale)> softmax_forward;
// inputs: gradient of the result, result [, length]
extern const KernelPartOf<void(KernelContext& context, SoftmaxKind kind, int64_t axis, double scale)> softmax_backward;

}  // namespace headrace
