// What the windows of a convolution see when each of their elements is moved by an offset of its own.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

// Of windows over images (height, width). Every attribute has two numbers.
struct DeformableWindow {
  Shape kernel, stride, dilate, pad;
  int64_t groups = 1;  // of channels that are moved together
  static constexpr auto kFields = fields(
      field(&DeformableWindow::kernel, "kernel", "Extent of the window.").required(),
      field(&DeformableWindow::stride, "stride", "Step of the window.").required(),
      field(&DeformableWindow::dilate, "dilate", "Step between the window's elements.").required(),
      field(&DeformableWindow::pad, "pad", "Rows and columns around the images.").required(),
      field(&DeformableWindow::groups, "groups", "Groups of channels with offsets of their own.").between(1, kMostInt));

  int64_t elements() const { return element_count(kernel); }
};

// Rows and columns of windows over images of these extents. Raises MXNetError where none fits.
Shape deformable_windows(const char* name, const DeformableWindow& window, int64_t height, int64_t width);

// inputs: images, offsets and perhaps masks; output: what the windows see
extern const KernelPartOf<void(KernelContext& context, const DeformableWindow& window)> see_deformed;
// inputs: the gradient of that, and its inputs; outputs: the gradients of these
extern const KernelPartOf<void(KernelContext& context, const DeformableWindow& window)> deformed_gradients;

// _deformable_columns and its gradient.
Operators deformable_column_operators();

}  // namespace headrace
