#include "ops/detection/roi_align.h"

#include "ops/detection/taps.h"

namespace headrace {
namespace {

// What the samples of all regions are, for align_regions and spread_regions.
template <class T>
auto aligned_taps(KernelContext& c, const AlignAttrs& a) {
  return [&c, &a, regions = Reals<T>(c.input(1))](const RegionShapes& s, int64_t r) -> Taps<T> {
    const T* region = regions.at(5 * r);
    const int64_t image = image_of_region(region[0] < 0 ? T{-1} : region[0], s.images);
    if (image < 0) return {};
    const Reach<T> reach = reach_of(region, static_cast<T>(a.spatial_scale), a.aligned);
    check_reach(c.name(), reach, a.aligned);
    return taps_of(c.name(), s, image, reach, a.sample_ratio, [](T&, T&) {});
  };
}

void align_on_host(KernelContext& c, const AlignAttrs& a) {
  with_real(c.output(0).dtype, [&]<class T>() { align_regions<T>(c, a.position_sensitive, aligned_taps<T>(c, a)); });
}

void spread_on_host(KernelContext& c, const AlignAttrs& a) {
  with_real(c.output(0).dtype, [&]<class T>() { spread_regions<T>(c, a.position_sensitive, aligned_taps<T>(c, a)); });
}

}  // namespace

const decltype(align_rois) align_rois{"align_rois", align_on_host};
const decltype(spread_rois) spread_rois{"spread_rois", spread_on_host};

}  // namespace headrace
