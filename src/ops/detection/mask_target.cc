// mrcnn_mask_target: what Mask R-CNN is to learn of the masks of objects.

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/taps.h"
#include "ops/families.h"

namespace headrace {
namespace {

struct MaskAttrs {
  int64_t num_rois = 0, num_classes = 0;
  Shape mask_size;
  int64_t sample_ratio = 2;
  bool aligned = false;
  static constexpr auto kFields = fields(
      field(&MaskAttrs::num_rois, "num_rois", "Regions of an image.").required(),
      field(&MaskAttrs::num_classes, "num_classes", "How many classes there are.").required().between(1, kMostInt),
      field(&MaskAttrs::mask_size, "mask_size", "Rows and columns of the targets.").required(),
      field(&MaskAttrs::sample_ratio, "sample_ratio",
            "Samples of a cell along each axis; not positive: one per element."),
      field(&MaskAttrs::aligned, "aligned", "Whether coordinates are of pixels' corners, not of their centers."));
};

enum : size_t { kRegions, kMasks, kMatches, kClasses };

void infer_targets(Infer& i, const MaskAttrs& a) {
  const Shape &regions = i.shape(kRegions), &masks = i.shape(kMasks);
  expect_floats(i, kRegions);
  i.require(regions.size() == 3 && regions[2] == 4, ErrorKind::kRuntime,
            "rois must have shape (batch, regions, 4), got {}", to_string(regions));
  i.require(regions[1] == a.num_rois, ErrorKind::kRuntime, "num_rois is {}, but rois has shape {}", a.num_rois,
            to_string(regions));
  i.require(masks.size() == 4 && masks[0] == regions[0] && i.dtype(kMasks) == i.dtype(kRegions), ErrorKind::kRuntime,
            "gt_masks must have shape ({}, objects, rows, columns) and hold {}, got {} of {}", regions[0],
            dtype_name(i.dtype(kRegions)), to_string(masks), dtype_name(i.dtype(kMasks)));
  for (size_t k : {kMatches, kClasses}) expect_type(i, k, Shape{regions[0], regions[1]}, i.dtype(kRegions));
  i.require(a.mask_size.size() == 2 && a.mask_size[0] > 0 && a.mask_size[1] > 0, ErrorKind::kValue,
            "mask_size must be two positive numbers, got {}", to_string(a.mask_size));
  const Shape result{regions[0], regions[1], a.num_classes, a.mask_size[0], a.mask_size[1]};
  for (int k = 0; k < 2; ++k) i.output(result, i.dtype(kRegions));
  i.cost(1000 + 10.0 * static_cast<double>(element_count(result)));
}

// The samples of region r, in the masks of all images as the planes of one.
template <class T>
Taps<T> taps_of_region(KernelContext& c, const RegionShapes& s, const T* region, int64_t mask, const MaskAttrs& a) {
  const T shift = a.aligned ? T{0.5} : T{0};
  Reach<T> reach;
  for (int axis : {0, 1}) {
    reach.low[axis] = region[1 - axis] - shift;
    reach.size[axis] = region[3 - axis] - shift - reach.low[axis];
    if (!a.aligned) reach.size[axis] = std::max(reach.size[axis], T{1});
  }
  return taps_of(c.name(), s, mask, reach, a.sample_ratio, [](T&, T&) {});
}

template <class T>
void write_mask_targets(KernelContext& c, const MaskAttrs& a) {
  const Shape &shape = c.input(kMasks).shape, &result = c.output(0).shape;
  const int64_t objects = shape[1], regions = result[1], plane = shape[2] * shape[3];
  const RegionShapes s({shape[0] * objects, 1, shape[2], shape[3]}, {result[0] * regions, 1, result[3], result[4]});
  const Reals<T> boxes(c.input(kRegions)), masks(c.input(kMasks)), matches(c.input(kMatches)),
      classes(c.input(kClasses));
  RealResult<T> targets(c.output(0), 0), weights(c.output(1), 0);
  parallel_for(s.regions, 1, 10.0 * static_cast<double>(c.output(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t object = image_of_region(matches[r], objects);
      const int64_t mask = object < 0 ? -1 : r / regions * objects + object;
      const Taps<T> taps = taps_of_region(c, s, boxes.at(4 * r), mask, a);
      T* first = targets.at(r * a.num_classes * s.cells());
      if (taps.of_cell > 0)
        for (int64_t cell = 0; cell < s.cells(); ++cell) first[cell] = taps.mean(masks.at(mask * plane), cell);
      for (int64_t k = 1; k < a.num_classes; ++k) std::copy_n(first, s.cells(), first + k * s.cells());
      for (int64_t k = 0; k < a.num_classes; ++k)
        if (classes[r] == static_cast<T>(k))
          std::fill_n(weights.at((r * a.num_classes + k) * s.cells()), s.cells(), T{1});
    }
  });
  targets.store();
  weights.store();
}

}  // namespace

Operators mask_target_operators() {
  const auto attrs = [](bool aligned, int64_t ratio) {
    return make_attrs(
        MaskAttrs{.num_rois = 3, .num_classes = 2, .mask_size = {2, 3}, .sample_ratio = ratio, .aligned = aligned});
  };
  const std::vector<SampleArray> arrays = {uniform({2, 3, 4}, 0, 5), uniform({2, 2, 5, 6}, 0, 1), uniform({2, 3}, 0, 2),
                                           integers({2, 3}, 0, 2, DType::kFloat32)};
  return {general<MaskAttrs>(
      {.name = "_contrib_mrcnn_mask_target",
       .python = {"nd.contrib.mrcnn_mask_target"},
       .doc =
           "Targets for the masks of regions: rois (batch, num_rois, 4), corners of boxes, matches (batch, num_rois), "
           "the number of each one's object, and cls_targets (batch, num_rois), its class without the background. "
           "gt_masks (batch, objects, rows, columns) are cut to the regions as ROIAlign does; the same target stands "
           "for all classes, (batch, num_rois, num_classes, *mask_size), and the second result is 1 for the region's "
           "class and 0 for others. An object that there is not gives 0. Raises MXNetError for other shapes and "
           "dtypes, and for num_rois that is not the number of regions.",
       .inputs = {"rois", "gt_masks", "matches", "cls_targets"},
       .outputs = 2,
       .infer = infer_targets,
       .kernel =
           [](KernelContext& c, const MaskAttrs& a) {
             with_real(c.output(0).dtype, [&]<class T>() { write_mask_targets<T>(c, a); });
           },
       .samples = {Sample(arrays, attrs(false, 2)), Sample(arrays, attrs(true, -1))}})};
}

}  // namespace headrace
