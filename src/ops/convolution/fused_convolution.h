// Attributes of a convolution with what often comes after it.
#pragma once

#include <string>
#include <tuple>

#include "ops/convolution/convolution.h"

namespace headrace {

struct FusedConvolutionAttrs : ConvolutionAttrs {
  std::string activation = {};
  bool with_scale = false, with_sum = false;
  static constexpr auto kFields = std::tuple_cat(
      ConvolutionAttrs::kFields,
      fields(
          field(&FusedConvolutionAttrs::activation, "activation", "'relu', or '' for none.").one_of("|relu"),
          field(&FusedConvolutionAttrs::with_scale, "with_scale",
                "Whether two arrays follow, float32 numbers per channel: the result is multiplied by the first, then "
                "the second is added."),
          field(&FusedConvolutionAttrs::with_sum, "with_sum",
                "Whether there is a last array, of the result's shape, which is added before the activation.")));

  size_t further() const noexcept { return (with_scale ? 2 : 0) + (with_sum ? 1 : 0); }
};

}  // namespace headrace
