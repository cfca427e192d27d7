// ROIAlign: means of samples between the elements of an image, in each cell of a grid over each region.
#include "ops/detection/roi_align.h"

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/detection/regions.h"

namespace headrace {
namespace {

Shape aligned_shape(const Infer& i, const Shape& data, int64_t regions, const AlignAttrs& a) {
  const int64_t cells = multiply_extents(a.pooled_size[0], a.pooled_size[1], i.name());
  i.require(!a.position_sensitive || data[1] % cells == 0, ErrorKind::kRuntime,
            "position_sensitive needs channels that the {} cells divide, got {}", cells, data[1]);
  return {regions, a.position_sensitive ? data[1] / cells : data[1], a.pooled_size[0], a.pooled_size[1]};
}

void infer_align(Infer& i, const AlignAttrs& a) {
  expect_regions(i, a.pooled_size);
  const Shape result = aligned_shape(i, i.shape(0), i.shape(1)[0], a);
  i.output(result, i.dtype(0));
  i.cost(1000 + 20.0 * static_cast<double>(element_count(result)));
}

std::vector<Sample> samples(Shape shape) {
  const SampleArray data = uniform({2, 4, 5, 6}), rois = uniform({3, 5}, 0, 2);
  return {Sample({data, rois}, make_attrs(AlignAttrs{.pooled_size = {2, 2}, .shape = shape})),
          Sample({data, rois}, make_attrs(AlignAttrs{.pooled_size = {2, 2},
                                                     .spatial_scale = 0.5,
                                                     .sample_ratio = 2,
                                                     .position_sensitive = true,
                                                     .shape = shape}))};
}

OpDef roi_align() {
  return general<AlignAttrs>(
      {.name = "_contrib_ROIAlign",
       .python = {"nd.contrib.ROIAlign"},
       .doc =
           "For each region of rois (regions, 5), an image's number and the corners of a box, means of samples between "
           "the elements of data (batch, channels, rows, columns) in the cells of a grid: (regions, channels, "
           "*pooled_size). A region of an image that there is not gives 0. With position_sensitive each cell has "
           "channels of its own. The gradient of rois is zero. Raises MXNetError for other shapes and dtypes, and, "
           "when the result is read, for empty regions with aligned=True.",
       .inputs = {"data", "rois"},
       .infer = infer_align,
       .kernel = [](KernelContext& c, const AlignAttrs& a) { align_rois(c, a); },
       .gradient =
           [](Gradient& g, const AlignAttrs& a) {
             static const OpDef& op = find_op("_backward_ROIAlign");
             AlignAttrs attrs = a;
             attrs.shape = g.input(0).shape();
             if (g.wants(0)) g.set(0, call(op, make_attrs(attrs), {g.head(), g.input(1)}));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .own_gradient = true,
       .saves_inputs = 0b10,
       .samples = samples({})});
}

OpDef roi_align_gradient() {
  OpDef op = general<AlignAttrs>({.name = "_backward_ROIAlign",
                                  .doc = "The gradient of the images of ROIAlign.",
                                  .inputs = {"gradient", "rois"},
                                  .infer =
                                      [](Infer& i, const AlignAttrs& a) {
                                        expect_extents(i, a.shape);
                                        i.require(a.shape.size() == 4, ErrorKind::kRuntime,
                                                  "shape must be that of images, got {}", to_string(a.shape));
                                        expect_regions(i, a.pooled_size);
                                        expect_shape(i, 0, aligned_shape(i, a.shape, i.shape(1)[0], a));
                                        i.output(a.shape, i.dtype(0));
                                        i.cost(1000 + 20.0 * static_cast<double>(i.size(0)));
                                      },
                                  .kernel = [](KernelContext& c, const AlignAttrs& a) { spread_rois(c, a); },
                                  .gradient =
                                      [](Gradient& g, const AlignAttrs&) {
                                        static const OpDef& forward = find_op("_contrib_ROIAlign");
                                        if (g.wants(0)) g.set(0, call(forward, g.attrs(), {g.head(), g.input(1)}));
                                        if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
                                      },
                                  .own_gradient = true,
                                  .saves_inputs = 0b10});
  op.samples = {Sample({uniform({3, 4, 2, 2}), uniform({3, 5}, 0, 2)},
                       make_attrs(AlignAttrs{.pooled_size = {2, 2}, .shape = {2, 4, 5, 6}}))};
  return op;
}

}  // namespace

Operators roi_align_operators() { return {roi_align(), roi_align_gradient()}; }

}  // namespace headrace
