// ROIAlign: means of samples between the elements of an image, in each cell of a grid over each region.

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"
#include "ops/detection/regions.h"

namespace headrace {
namespace {

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

Shape result_shape(const Infer& i, const Shape& data, int64_t regions, const AlignAttrs& a) {
  const int64_t cells = multiply_extents(a.pooled_size[0], a.pooled_size[1], i.name());
  i.require(!a.position_sensitive || data[1] % cells == 0, ErrorKind::kRuntime,
            "position_sensitive needs channels that the {} cells divide, got {}", cells, data[1]);
  return {regions, a.position_sensitive ? data[1] / cells : data[1], a.pooled_size[0], a.pooled_size[1]};
}

void infer_align(Infer& i, const AlignAttrs& a) {
  expect_regions(i, a.pooled_size);
  const Shape result = result_shape(i, i.shape(0), i.shape(1)[0], a);
  i.output(result, i.dtype(0));
  i.cost(1000 + 20.0 * static_cast<double>(element_count(result)));
}

// A sample between four elements of a plane.
template <class T>
struct Tap {
  int64_t places[4] = {0, 0, 0, 0};
  T weights[4] = {0, 0, 0, 0};
};

template <class T>
Tap<T> tap_at(T y, T x, int64_t height, int64_t width) {
  if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width))) return {};
  const auto between = [](T& at, int64_t extent) {
    at = std::max(at, T{0});
    auto low = static_cast<int64_t>(at);
    if (low < extent - 1) return std::pair{low, low + 1};
    low = extent - 1;
    at = static_cast<T>(low);
    return std::pair{low, low};
  };
  const auto [top, bottom] = between(y, height);
  const auto [left, right] = between(x, width);
  const T down = y - static_cast<T>(top), across = x - static_cast<T>(left), up = 1 - down, back = 1 - across;
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {up * back, up * across, down * back, down * across}};
}

// All samples of a region, cell by cell.
template <class T>
struct Taps {
  std::vector<Tap<T>> taps;
  int64_t image = -1, of_cell = 0;
};

constexpr double kMostSamples = 1 << 22;  // of a region: more has no sense, and no end

template <class T>
Taps<T> taps_of(const char* name, const RegionShapes& s, const T* region, const AlignAttrs& a) {
  Taps<T> result;
  result.image = image_of_region(region[0] < 0 ? T{-1} : region[0], s.images);
  if (result.image < 0 || s.height == 0 || s.width == 0) return {};
  const auto scale = static_cast<T>(a.spatial_scale);
  const T shift = a.aligned ? T{0.5} : T{0};
  T low[2], size[2];
  int64_t samples[2];
  const int64_t cells[2] = {s.grid_height, s.grid_width};
  for (int axis : {0, 1}) {  // rows, columns
    low[axis] = region[2 - axis] * scale - shift;
    size[axis] = region[4 - axis] * scale - shift - low[axis];
    check(size[axis] > 0 || !a.aligned, ErrorKind::kRuntime, "{}: aligned=True needs regions that are not empty", name);
    if (!a.aligned) size[axis] = std::max(size[axis], T{1});
    const double wanted =
        a.sample_ratio > 0 ? static_cast<double>(a.sample_ratio) : std::ceil(size[axis] / static_cast<T>(cells[axis]));
    check(wanted <= kMostSamples, ErrorKind::kValue, "{}: a region of {} elements along an axis takes too many samples",
          name, static_cast<double>(size[axis]));
    samples[axis] = static_cast<int64_t>(wanted);
  }
  check(static_cast<double>(samples[0] * samples[1]) * static_cast<double>(s.cells()) <= kMostSamples,
        ErrorKind::kValue, "{}: a region takes more than {} samples", name, kMostSamples);
  const auto coordinate = [&](int axis, int64_t cell, int64_t sample) {
    const T cell_size = size[axis] / static_cast<T>(cells[axis]);
    return low[axis] + static_cast<T>(cell) * cell_size +
           (static_cast<T>(sample) + T{0.5}) * cell_size / static_cast<T>(samples[axis]);
  };
  result.of_cell = samples[0] * samples[1];
  result.taps.reserve(static_cast<size_t>(result.of_cell * s.cells()));
  for (int64_t cell = 0; cell < s.cells(); ++cell)
    for (int64_t k = 0; k < result.of_cell; ++k)
      result.taps.push_back(tap_at(coordinate(0, cell / s.grid_width, k / samples[1]),
                                   coordinate(1, cell % s.grid_width, k % samples[1]), s.height, s.width));
  return result;
}

// Calls f(number of the result's element, first element of the plane, taps of the cell, how many) for the channels
// [begin, end) of a region.
template <class T, class F>
void for_each_cell(const RegionShapes& s, const Taps<T>& taps, int64_t r, const AlignAttrs& a, int64_t begin,
                   int64_t end, F&& f) {
  if (taps.image < 0) return;
  for (int64_t channel = begin; channel < end; ++channel)
    for (int64_t cell = 0; cell < s.cells(); ++cell) {
      const int64_t planes = a.position_sensitive ? s.channels * s.cells() : s.channels;
      const int64_t plane = taps.image * planes + (a.position_sensitive ? channel * s.cells() + cell : channel);
      f((r * s.channels + channel) * s.cells() + cell, plane * s.height * s.width,
        taps.taps.data() + cell * taps.of_cell, taps.of_cell);
    }
}

template <class T>
void align(KernelContext& c, const AlignAttrs& a) {
  const RegionShapes s(c.input(0).shape, c.output(0).shape);
  const Reals<T> data(c.input(0)), regions(c.input(1));
  RealResult<T> out(c.output(0), 0);
  parallel_for(s.regions, 1, 20.0 * static_cast<double>(c.output(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Taps<T> taps = taps_of(c.name(), s, regions.at(5 * r), a);
      for_each_cell(s, taps, r, a, 0, s.channels, [&](int64_t at, int64_t plane, const Tap<T>* tap, int64_t count) {
        const T* image = data.at(plane);
        T sum = 0;
        for (int64_t k = 0; k < count; ++k)
          for (int corner = 0; corner < 4; ++corner) sum += tap[k].weights[corner] * image[tap[k].places[corner]];
        out[at] = sum / static_cast<T>(count);
      });
    }
  });
  out.store();
}

template <class T>
void align_back(KernelContext& c, const AlignAttrs& a) {
  const RegionShapes s(c.output(0).shape, c.input(0).shape);
  const Reals<T> head(c.input(0)), regions(c.input(1));
  RealResult<T> out(c.output(0), 0);
  parallel_for(s.channels, 1, 20.0 * static_cast<double>(c.input(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < s.regions; ++r) {
      const Taps<T> taps = taps_of(c.name(), s, regions.at(5 * r), a);
      for_each_cell(s, taps, r, a, begin, end, [&](int64_t at, int64_t plane, const Tap<T>* tap, int64_t count) {
        T* image = out.at(plane);
        for (int64_t k = 0; k < count; ++k)
          for (int corner = 0; corner < 4; ++corner)
            image[tap[k].places[corner]] += head[at] * tap[k].weights[corner] / static_cast<T>(count);
      });
    }
  });
  out.store();
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
       .kernel = [](KernelContext& c,
                    const AlignAttrs& a) { with_real(c.output(0).dtype, [&]<class T>() { align<T>(c, a); }); },
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
  OpDef op = general<AlignAttrs>(
      {.name = "_backward_ROIAlign",
       .doc = "The gradient of the images of ROIAlign.",
       .inputs = {"gradient", "rois"},
       .infer =
           [](Infer& i, const AlignAttrs& a) {
             expect_extents(i, a.shape);
             i.require(a.shape.size() == 4, ErrorKind::kRuntime, "shape must be that of images, got {}",
                       to_string(a.shape));
             expect_regions(i, a.pooled_size);
             expect_shape(i, 0, result_shape(i, a.shape, i.shape(1)[0], a));
             i.output(a.shape, i.dtype(0));
             i.cost(1000 + 20.0 * static_cast<double>(i.size(0)));
           },
       .kernel = [](KernelContext& c,
                    const AlignAttrs& a) { with_real(c.output(0).dtype, [&]<class T>() { align_back<T>(c, a); }); },
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

std::vector<OpDef> roi_align_operators() { return {roi_align(), roi_align_gradient()}; }

}  // namespace headrace
