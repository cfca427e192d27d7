// PSROIPooling: the mean of each cell of a grid over each region, every cell reading channels of its own.

#include <cmath>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"
#include "ops/detection/regions.h"
#include "ops/families.h"

namespace headrace {
namespace {

struct SensitiveAttrs {
  double spatial_scale = 1;
  int64_t output_dim = 1, pooled_size = 1, group_size = 0;
  Shape shape = {};  // of images, for the gradient
  static constexpr auto kFields = fields(
      field(&SensitiveAttrs::spatial_scale, "spatial_scale", "What coordinates are multiplied with.")
          .required()
          .between(0, 1),
      field(&SensitiveAttrs::output_dim, "output_dim", "Channels of the result.").required().between(1, kMostInt),
      field(&SensitiveAttrs::pooled_size, "pooled_size", "Rows and columns of the grid.")
          .required()
          .between(1, kMostInt),
      field(&SensitiveAttrs::group_size, "group_size",
            "Rows and columns of the grid of channels behind one of the result; 0: pooled_size.")
          .between(0, kMostInt),
      field(&SensitiveAttrs::shape, "shape", "Of the gradient: the shape of data.").of_files());

  int64_t groups() const { return group_size == 0 ? pooled_size : group_size; }
};

void expect_channels(const Infer& i, const Shape& data, const SensitiveAttrs& a) {
  const int64_t of_one = multiply_extents(a.groups(), a.groups(), i.name());
  i.require(data[1] >= multiply_extents(of_one, a.output_dim, i.name()), ErrorKind::kRuntime,
            "output_dim={} with groups of {} x {} needs as many channels, got {}", a.output_dim, a.groups(), a.groups(),
            data[1]);
}

Shape sensitive_shape(const Shape& rois, const SensitiveAttrs& a) {
  return {rois[0], a.output_dim, a.pooled_size, a.pooled_size};
}

// One axis of a region, in elements of the image.
template <class T>
struct Stretch {
  T begin, of_cell;

  Stretch(T low, T high, T scale, int64_t cells)
      : begin(std::round(low) * scale),
        of_cell(std::max((std::round(high) + T{1}) * scale - begin, T{0.1f}) / static_cast<T>(cells)) {}

  // The places of cell k, cut to the image: [first, second).
  std::pair<int64_t, int64_t> places(int64_t k, int64_t extent) const {
    const auto cut = [extent](T at) {
      return at > 0 ? static_cast<int64_t>(std::min(at, static_cast<T>(extent))) : int64_t{0};
    };
    return {cut(std::floor(static_cast<T>(k) * of_cell + begin)),
            cut(std::ceil(static_cast<T>(k + 1) * of_cell + begin))};
  }
};

// Calls f(number of the result's element, first element of its plane, row, column, places of the row) ... for all cells
// of the output channels [begin, end) of region r that have places.
template <class T, class F>
void for_each_cell(const RegionShapes& s, int64_t planes, const T* region, int64_t r, const SensitiveAttrs& a,
                   int64_t begin, int64_t end, F&& f) {
  const int64_t image = image_of_region(region[0], s.images), groups = a.groups();
  if (image < 0) return;
  const T scale = static_cast<T>(a.spatial_scale);
  const Stretch<T> rows(region[2], region[4], scale, s.grid_height);
  const Stretch<T> columns(region[1], region[3], scale, s.grid_width);
  for (int64_t y = 0; y < s.grid_height; ++y)
    for (int64_t x = 0; x < s.grid_width; ++x) {
      const auto [top, bottom] = rows.places(y, s.height);
      const auto [left, right] = columns.places(x, s.width);
      if (bottom <= top || right <= left) continue;
      const int64_t group = (y * groups / s.grid_height) * groups + x * groups / s.grid_width;
      for (int64_t channel = begin; channel < end; ++channel) {
        const int64_t plane = image * planes + channel * groups * groups + group;
        const int64_t corner = (plane * s.height + top) * s.width + left;
        f(((r * s.channels + channel) * s.grid_height + y) * s.grid_width + x, corner, bottom - top, right - left);
      }
    }
}

template <class T>
void pool_averages(KernelContext& c, const SensitiveAttrs& a) {
  const RegionShapes s(c.input(0).shape, c.output(0).shape);
  const Reals<T> data(c.input(0)), regions(c.input(1));
  RealResult<T> out(c.output(0), 0);
  const auto mean = [&](int64_t at, int64_t corner, int64_t rows, int64_t columns) {
    T sum = 0;
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) sum += data[corner + y * s.width + x];
    out[at] = sum / static_cast<T>(rows * columns);
  };
  parallel_for(s.regions, 1, 20.0 * static_cast<double>(c.output(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for_each_cell(s, c.input(0).shape[1], regions.at(5 * r), r, a, 0, s.channels, mean);
  });
  out.store();
}

template <class T>
void pool_back(KernelContext& c, const SensitiveAttrs& a) {
  const RegionShapes s(c.output(0).shape, c.input(0).shape);
  const Reals<T> head(c.input(0)), regions(c.input(1));
  RealResult<T> out(c.output(0), 0);
  const auto spread = [&](int64_t at, int64_t corner, int64_t rows, int64_t columns) {
    const T part = head[at] / static_cast<T>(rows * columns);
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) out[corner + y * s.width + x] += part;
  };
  parallel_for(s.channels, 1, 20.0 * static_cast<double>(c.input(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < s.regions; ++r)
      for_each_cell(s, c.output(0).shape[1], regions.at(5 * r), r, a, begin, end, spread);
  });
  out.store();
}

const SensitiveAttrs kSampled{.spatial_scale = 0.5, .output_dim = 2, .pooled_size = 2};

OpDef sensitive_pooling() {
  return general<SensitiveAttrs>(
      {.name = "_contrib_PSROIPooling",
       .python = {"nd.contrib.PSROIPooling"},
       .doc =
           "For each region of rois (regions, 5), an image's number and the corners of a box in rounded pixels, both "
           "included, the means of data (batch, channels, rows, columns) in the cells of a grid: (regions, output_dim, "
           "pooled_size, pooled_size). A cell reads one of the group_size * group_size channels behind each of the "
           "result, the one that lies where the cell does. A cell without places, or of an image that there is not, "
           "gives 0. The gradient of rois is zero. Raises MXNetError for other shapes and dtypes, and for fewer "
           "channels.",
       .inputs = {"data", "rois"},
       .complete =
           [](Completion& c, const SensitiveAttrs& a) {
             c.set(1, {-1, 5});
             const int64_t regions = c.has_rank(1) && c.shape(1).size() == 2 ? c.shape(1)[0] : -1;
             c.set_output(0, {regions, a.output_dim, a.pooled_size, a.pooled_size});
           },
       .infer =
           [](Infer& i, const SensitiveAttrs& a) {
             expect_regions(i, {a.pooled_size, a.pooled_size});
             expect_channels(i, i.shape(0), a);
             const Shape result = sensitive_shape(i.shape(1), a);
             i.output(result, i.dtype(0));
             i.cost(1000 + 20.0 * static_cast<double>(element_count(result)));
           },
       .kernel =
           [](KernelContext& c, const SensitiveAttrs& a) {
             with_real(c.output(0).dtype, [&]<class T>() { pool_averages<T>(c, a); });
           },
       .gradient =
           [](Gradient& g, const SensitiveAttrs& a) {
             static const OpDef& op = find_op("_backward_PSROIPooling");
             SensitiveAttrs attrs = a;
             attrs.shape = g.input(0).shape();
             if (g.wants(0)) g.set(0, call(op, make_attrs(attrs), {g.head(), g.input(1)}));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .saves_inputs = 0b10,
       .samples = {Sample({uniform({2, 8, 5, 6}), uniform({3, 5}, 0, 9)}, make_attrs(kSampled)),
                   Sample({uniform({2, 18, 5, 6}), uniform({3, 5}, 0, 9)},
                          make_attrs(SensitiveAttrs{.output_dim = 2, .pooled_size = 2, .group_size = 3}))}});
}

OpDef sensitive_pooling_gradient() {
  SensitiveAttrs sampled = kSampled;
  sampled.shape = {2, 8, 5, 6};
  return general<SensitiveAttrs>(
      {.name = "_backward_PSROIPooling",
       .doc = "The gradient of the images of PSROIPooling.",
       .inputs = {"gradient", "rois"},
       .infer =
           [](Infer& i, const SensitiveAttrs& a) {
             expect_extents(i, a.shape);
             i.require(a.shape.size() == 4, ErrorKind::kRuntime, "shape must be that of images, got {}",
                       to_string(a.shape));
             expect_regions(i, {a.pooled_size, a.pooled_size});
             expect_channels(i, a.shape, a);
             expect_shape(i, 0, sensitive_shape(i.shape(1), a));
             i.output(a.shape, i.dtype(0));
             i.cost(1000 + 20.0 * static_cast<double>(i.size(0)));
           },
       .kernel = [](KernelContext& c,
                    const SensitiveAttrs& a) { with_real(c.output(0).dtype, [&]<class T>() { pool_back<T>(c, a); }); },
       .gradient =
           [](Gradient& g, const SensitiveAttrs&) {
             static const OpDef& forward = find_op("_contrib_PSROIPooling");
             if (g.wants(0)) g.set(0, call(forward, g.attrs(), {g.head(), g.input(1)}));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .saves_inputs = 0b10,
       .samples = {Sample({uniform({3, 2, 2, 2}), uniform({3, 5}, 0, 9)}, make_attrs(sampled))}});
}

}  // namespace

Operators sensitive_pooling_operators() { return {sensitive_pooling(), sensitive_pooling_gradient()}; }

}  // namespace headrace
