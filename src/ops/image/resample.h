// Linear maps of images that act on rows and columns separately: resizing, adaptive pooling, and their transposes.
#pragma once

#include <string>
#include <vector>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

// From images of (height, width) to (out_height, out_width), or with `transposed` the other way round.
struct ResampleAttrs {
  std::string kind = "mean";
  int64_t height = 1, width = 1, out_height = 1, out_width = 1;
  bool transposed = false;
  static constexpr auto kFields = fields(
      field(&ResampleAttrs::kind, "kind",
            "mean: of the elements behind each result; aligned, centred: bilinear, with the corners' centres or the "
            "borders of the images coinciding, and the first element where there is one result; nearest: the element "
            "at the place.")
          .one_of("mean|aligned|centred|nearest"),
      field(&ResampleAttrs::height, "height", "Rows before."), field(&ResampleAttrs::width, "width", "Columns before."),
      field(&ResampleAttrs::out_height, "out_height", "Rows afterwards."),
      field(&ResampleAttrs::out_width, "out_width", "Columns afterwards."),
      field(&ResampleAttrs::transposed, "transposed", "Whether to apply the transpose: the gradient."));
};

// input: (..., rows, columns); output: the same with other extents
extern const KernelPartOf<void(KernelContext& context, const ResampleAttrs& attrs)> resample;

// The sparse matrix along one axis: result i is the sum of weight * element over taps [first[i], first[i + 1]).
struct ResampleTaps {
  struct Tap {
    int64_t from;
    double weight;
  };
  std::vector<int64_t> first{0};
  std::vector<Tap> taps;

  void close() { first.push_back(static_cast<int64_t>(taps.size())); }
  int64_t count() const noexcept { return static_cast<int64_t>(first.size()) - 1; }
};
ResampleTaps row_taps(const ResampleAttrs& attrs);
ResampleTaps column_taps(const ResampleAttrs& attrs);

}  // namespace headrace
