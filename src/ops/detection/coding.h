// Boxes as what networks learn: their places and sizes relative to anchors.
#pragma once

#include <string>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/detection/boxes.h"

namespace headrace {

struct DecodeAttrs {
  double std0 = 1, std1 = 1, std2 = 1, std3 = 1, clip = -1;
  std::string format = "center";
  static constexpr auto kFields =
      fields(field(&DecodeAttrs::std0, "std0", "Factor of the first number."),
             field(&DecodeAttrs::std1, "std1", "Factor of the second number."),
             field(&DecodeAttrs::std2, "std2", "Factor of the third number."),
             field(&DecodeAttrs::std3, "std3", "Factor of the fourth number."),
             field(&DecodeAttrs::clip, "clip", "Largest logarithm of a size; not positive: any."),
             field(&DecodeAttrs::format, "format", kBoxFormatDoc).one_of("corner|center"));
};

// As the operators' documentation has it.
extern const KernelPartOf<void(KernelContext& context)> encode_boxes;
extern const KernelPartOf<void(KernelContext& context, const DecodeAttrs& attrs)> decode_boxes;

// Raises the error of a match that there is not.
[[noreturn]] void fail_match(const char* name, double match, int64_t count);

}  // namespace headrace
