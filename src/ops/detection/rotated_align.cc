// RROIAlign: ROIAlign of regions that are turned.

#include <cmath>
#include <numbers>

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/taps.h"
#include "ops/families.h"

namespace headrace {
namespace {

struct RotatedAttrs {
  Shape pooled_size;
  double spatial_scale = 1;
  int64_t sampling_ratio = -1;
  Shape shape = {};  // of images, for the gradient
  static constexpr auto kFields =
      fields(field(&RotatedAttrs::pooled_size, "pooled_size", "Rows and columns of the grid.").required(),
             field(&RotatedAttrs::spatial_scale, "spatial_scale", "What coordinates are multiplied with.")
                 .required()
                 .between(0, 1),
             field(&RotatedAttrs::sampling_ratio, "sampling_ratio",
                   "Samples of a cell along each axis; not positive: one per element."),
             field(&RotatedAttrs::shape, "shape", "Of the gradient: the shape of data.").of_files());
};

constexpr int64_t kRegionWidth = 6;  // image, x and y of the middle, width, height, degrees

template <class T>
auto rotated_taps(KernelContext& c, const RotatedAttrs& a) {
  return [&c, &a, regions = Reals<T>(c.input(1))](const RegionShapes& s, int64_t r) -> Taps<T> {
    const T *region = regions.at(kRegionWidth * r), scale = static_cast<T>(a.spatial_scale);
    const T middle_x = region[1] * scale, middle_y = region[2] * scale;
    const T width = std::max(region[3] * scale, T{1}), height = std::max(region[4] * scale, T{1});
    const T angle = static_cast<T>(region[5] * std::numbers::pi / 180.0);
    const T cosine = std::cos(angle), sine = std::sin(angle);
    const auto turn = [&](T& y, T& x) {
      const T along = x * cosine + y * sine + middle_x;
      y = y * cosine - x * sine + middle_y;
      x = along;
    };
    return taps_of(c.name(), s, image_of_region(region[0], s.images),
                   Reach<T>{{-height / 2, -width / 2}, {height, width}}, a.sampling_ratio, turn);
  };
}

Shape rotated_shape(const Shape& data, const Shape& rois, const RotatedAttrs& a) {
  return {rois[0], data[1], a.pooled_size[0], a.pooled_size[1]};
}

OpDef rotated_align() {
  const auto attrs = [](int64_t ratio) {
    return make_attrs(RotatedAttrs{.pooled_size = {2, 3}, .spatial_scale = 0.5, .sampling_ratio = ratio});
  };
  return general<RotatedAttrs>(
      {.name = "_contrib_RROIAlign",
       .python = {"nd.contrib.RROIAlign"},
       .doc =
           "For each region of rois (regions, 6), an image's number, the middle of a box along columns and rows, its "
           "width, its height and the degrees that it is turned by, means of samples between the elements of data "
           "(batch, channels, rows, columns) in the cells of a grid: (regions, channels, *pooled_size). A region of "
           "an image that there is not gives 0. The gradient of rois is zero. Raises MXNetError for other shapes and "
           "dtypes, ValueError, when the result is read, for a region of more than four million samples.",
       .inputs = {"data", "rois"},
       .complete =
           [](Completion& c, const RotatedAttrs& a) {
             if (a.pooled_size.size() != 2) return;
             const int64_t channels = c.has_rank(0) && c.shape(0).size() == 4 ? c.shape(0)[1] : -1;
             const int64_t regions = c.has_rank(1) && c.shape(1).size() == 2 ? c.shape(1)[0] : -1;
             c.set(1, {-1, kRegionWidth});
             c.set_output(0, {regions, channels, a.pooled_size[0], a.pooled_size[1]});
           },
       .infer =
           [](Infer& i, const RotatedAttrs& a) {
             expect_regions(i, a.pooled_size, kRegionWidth);
             const Shape result = rotated_shape(i.shape(0), i.shape(1), a);
             i.output(result, i.dtype(0));
             i.cost(1000 + 20.0 * static_cast<double>(element_count(result)));
           },
       .kernel =
           [](KernelContext& c, const RotatedAttrs& a) {
             with_real(c.output(0).dtype, [&]<class T>() { align_regions<T>(c, false, rotated_taps<T>(c, a)); });
           },
       .gradient =
           [](Gradient& g, const RotatedAttrs& a) {
             static const OpDef& op = find_op("_backward_RROIAlign");
             RotatedAttrs attrs = a;
             attrs.shape = g.input(0).shape();
             if (g.wants(0)) g.set(0, call(op, make_attrs(attrs), {g.head(), g.input(1)}));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .own_gradient = true,
       .saves_inputs = 0b10,
       .samples = {Sample({uniform({2, 3, 5, 6}), uniform({3, kRegionWidth}, 0, 4)}, attrs(-1)),
                   Sample({uniform({2, 3, 5, 6}), uniform({3, kRegionWidth}, 0, 4)}, attrs(2))}});
}

OpDef rotated_align_gradient() {
  return general<RotatedAttrs>(
      {.name = "_backward_RROIAlign",
       .doc = "The gradient of the images of RROIAlign.",
       .inputs = {"gradient", "rois"},
       .infer =
           [](Infer& i, const RotatedAttrs& a) {
             expect_extents(i, a.shape);
             i.require(a.shape.size() == 4, ErrorKind::kRuntime, "shape must be that of images, got {}",
                       to_string(a.shape));
             expect_regions(i, a.pooled_size, kRegionWidth);
             expect_shape(i, 0, rotated_shape(a.shape, i.shape(1), a));
             i.output(a.shape, i.dtype(0));
             i.cost(1000 + 20.0 * static_cast<double>(i.size(0)));
           },
       .kernel =
           [](KernelContext& c, const RotatedAttrs& a) {
             with_real(c.output(0).dtype, [&]<class T>() { spread_regions<T>(c, false, rotated_taps<T>(c, a)); });
           },
       .gradient =
           [](Gradient& g, const RotatedAttrs&) {
             static const OpDef& forward = find_op("_contrib_RROIAlign");
             if (g.wants(0)) g.set(0, call(forward, g.attrs(), {g.head(), g.input(1)}));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .own_gradient = true,
       .saves_inputs = 0b10,
       .samples = {Sample(
           {uniform({3, 4, 2, 2}), uniform({3, kRegionWidth}, 0, 2)},
           make_attrs(RotatedAttrs{.pooled_size = {2, 2}, .spatial_scale = 0.5, .shape = {2, 4, 5, 6}}))}});
}

}  // namespace

Operators rotated_align_operators() { return {rotated_align(), rotated_align_gradient()}; }

}  // namespace headrace
