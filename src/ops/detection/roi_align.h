// Means of samples between the elements of images, in the cells of grids over regions.
#pragma once

#include "base/check.h"
#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"
#include "ops/detection/region_taps.h"

namespace headrace {

struct AlignAttrs {
  Shape pooled_size;
  double spatial_scale = 1;
  int64_t sample_ratio = -1;
  bool position_sensitive = false, aligned = false;
  Shape shape = {};  // of images, for the gradient
  static constexpr auto kFields = fields(
      field(&AlignAttrs::pooled_size, "pooled_size", "Rows and columns of the grid.").required(),
      field(&AlignAttrs::spatial_scale, "spatial_scale", "What coordinates are multiplied with.").required(),
      field(&AlignAttrs::sample_ratio, "sample_ratio",
            "Samples of a cell along each axis; not positive: one per element."),
      field(&AlignAttrs::position_sensitive, "position_sensitive", "Whether each cell has channels of its own."),
      field(&AlignAttrs::aligned, "aligned", "Whether coordinates are of pixels' corners, not of their centers."),
      field(&AlignAttrs::shape, "shape", "Of the gradient: the shape of data.").of_files());
};

// inputs: images (batch, channels, rows, columns) and regions (count, 5); output: the means
extern const KernelPartOf<void(KernelContext& context, const AlignAttrs& attrs)> align_rois;
// inputs: the gradient of the means, and regions; output: that of the images
extern const KernelPartOf<void(KernelContext& context, const AlignAttrs& attrs)> spread_rois;

// Raises MXNetError for a region that is empty where that may not be.
template <class T>
void check_reach(const char* name, const Reach<T>& reach, bool aligned) {
  for (const T size : reach.size)
    check(size > 0 || !aligned, ErrorKind::kRuntime, "{}: aligned=True needs regions that are not empty", name);
}

}  // namespace headrace
