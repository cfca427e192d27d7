// DeformablePSROIPooling: regions of images cut into parts, each read from channels of its own and moved by an offset.

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/families.h"
#include "ops/spatial/bilinear.h"
#include "ops/spatial/bounds.h"
#include "ops/spatial/numbers.h"

namespace headrace {
namespace {

struct RegionAttrs {
  double spatial_scale = 1;
  int64_t output_dim = 1, group_size = 1, pooled_size = 1, part_size = 0, sample_per_part = 1;
  double trans_std = 0;
  bool no_trans = false;
  static constexpr auto kFields = fields(
      field(&RegionAttrs::spatial_scale, "spatial_scale", "Rows of data for one row of the image that rois refer to.")
          .required()
          .between(0, 1),
      field(&RegionAttrs::output_dim, "output_dim", "Channels of the result.").required().between(1, kMostInt),
      field(&RegionAttrs::group_size, "group_size",
            "Rows and columns of the grid of channels behind one of the result.")
          .required()
          .between(1, kMostInt),
      field(&RegionAttrs::pooled_size, "pooled_size", "Rows and columns of the result.")
          .required()
          .between(1, kMostInt),
      field(&RegionAttrs::part_size, "part_size", "Rows and columns of trans; 0: pooled_size.").between(0, kMostInt),
      field(&RegionAttrs::sample_per_part, "sample_per_part", "Rows and columns of samples in one part.")
          .between(1, kMostInt),
      field(&RegionAttrs::trans_std, "trans_std", "What trans is multiplied by, in sizes of the region.").between(0, 1),
      field(&RegionAttrs::no_trans, "no_trans", "Whether nothing is moved."));

  int64_t parts() const { return part_size == 0 ? pooled_size : part_size; }
};

Shape region_shape(const RegionAttrs& a, const Shape& rois) {
  return {rois[0], a.output_dim, a.pooled_size, a.pooled_size};
}

// Checks (data, rois, trans unless no_trans), which begin at input `first`.
void check_regions(const Infer& i, const RegionAttrs& a, size_t first) {
  const Shape &data = i.shape(first), &rois = i.shape(first + 1);
  expect_floats(i, first);
  require_from(i.name(), "output_dim", a.output_dim, 1);
  require_from(i.name(), "group_size", a.group_size, 1);
  require_from(i.name(), "pooled_size", a.pooled_size, 1);
  require_from(i.name(), "part_size", a.part_size, 0);
  require_from(i.name(), "sample_per_part", a.sample_per_part, 1);
  i.require(i.input_count() == first + (a.no_trans ? 2 : 3), ErrorKind::kType,
            "{} arrays are needed with no_trans={}, got {}", a.no_trans ? 2 : 3, a.no_trans ? "True" : "False",
            i.input_count() - first);
  for (size_t k = first; k < i.input_count(); ++k)
    i.require(i.dtype(k) == i.dtype(first), ErrorKind::kRuntime, "data hold {}, but input {} holds {}; convert one",
              dtype_name(i.dtype(first)), k - first, dtype_name(i.dtype(k)));
  i.require(data.size() == 4, ErrorKind::kRuntime, "data should be a 4D tensor, got shape {}", to_string(data));
  i.require(rois.size() == 2 && rois[1] == 5, ErrorKind::kRuntime, "rois should be a 2D tensor of shape (n, 5), got {}",
            to_string(rois));
  const int64_t channels =
      multiply_extents(multiply_extents(a.group_size, a.group_size, i.name()), a.output_dim, i.name());
  i.require(data[1] >= channels, ErrorKind::kRuntime,
            "output_dim {} and group_size {} need data of {} channels or more, got shape {}", a.output_dim,
            a.group_size, channels, to_string(data));
  if (a.no_trans) return;
  const Shape& trans = i.shape(first + 2);
  const bool fits = trans.size() == 4 && trans[0] == rois[0] && trans[1] >= 2 && trans[1] % 2 == 0 &&
                    a.output_dim % (trans[1] / 2) == 0 && trans[2] == a.parts() && trans[3] == a.parts();
  i.require(fits, ErrorKind::kRuntime,
            "trans should be a 4D tensor of shape ({}, twice a divisor of output_dim {}, {}, {}), got {}", rois[0],
            a.output_dim, a.parts(), a.parts(), to_string(trans));
}

double region_cost(const RegionAttrs& a, const Shape& rois) {
  return 500 + 20.0 * static_cast<double>(element_count(region_shape(a, rois))) *
                   static_cast<double>(a.sample_per_part) * static_cast<double>(a.sample_per_part);
}

// Where one element of the result is taken.
template <class T>
struct Bin {
  int64_t plane;  // in data
  T top, left;    // of the first sample
  T row_step, column_step;
  T height, width;  // of the region
  int64_t trans;    // the offset along columns; that along rows is one grid of parts behind it
};

// The numbers of one call; inputs begin at `first`.
template <class T>
class Regions {
 public:
  Regions(KernelContext& c, const RegionAttrs& a, size_t first)
      : attrs(a),
        shape(c.input(first).shape),
        data(numbers_of<T>(c, c.input(first))),
        rois_(numbers_of<T>(c, c.input(first + 1))),
        trans_(a.no_trans ? nullptr : numbers_of<T>(c, c.input(first + 2))),
        classes_(a.no_trans ? 1 : c.input(first + 2).shape[1] / 2) {
    for (int64_t n = 0; n < c.input(first + 1).shape[0]; ++n)
      check(rois_[5 * n] >= 0 && rois_[5 * n] < static_cast<T>(shape[0]), ErrorKind::kIndex,
            "{}: rois[{}] is in image {}, but there are {}", c.name(), n, static_cast<double>(rois_[5 * n]), shape[0]);
  }

  int64_t area() const { return shape[2] * shape[3]; }
  int64_t parts_area() const { return attrs.parts() * attrs.parts(); }

  Bin<T> bin(int64_t index) const {
    const int64_t size = attrs.pooled_size, column = index % size, row = index / size % size;
    const int64_t channel = index / size / size % attrs.output_dim, n = index / size / size / attrs.output_dim;
    const T* roi = rois_ + 5 * n;
    const T scale = static_cast<T>(attrs.spatial_scale), half = T{0.5};
    const T left = std::round(roi[1]) * scale - half, top = std::round(roi[2]) * scale - half;
    const T right = (std::round(roi[3]) + 1) * scale - half, bottom = (std::round(roi[4]) + 1) * scale - half;
    Bin<T> b{};
    b.height = std::max(bottom - top, T{0.1});
    b.width = std::max(right - left, T{0.1});
    const T bin_height = b.height / static_cast<T>(size), bin_width = b.width / static_cast<T>(size);
    const T samples = static_cast<T>(attrs.sample_per_part);
    b.row_step = bin_height / samples;
    b.column_step = bin_width / samples;
    b.trans = trans_index(n, channel, row, column);
    b.left = static_cast<T>(column) * bin_width + left + moved(b.trans) * b.width;
    b.top = static_cast<T>(row) * bin_height + top + moved(b.trans + parts_area()) * b.height;
    const int64_t group = attrs.group_size, x = column * group / size, y = row * group / size;
    b.plane = (static_cast<int64_t>(roi[0]) * shape[1] + (channel * group + y) * group + x) * area();
    return b;
  }

  // Calls f(taps) for the samples of a bin that lie inside.
  template <class F>
  void for_each_sample(const Bin<T>& b, F&& f) const {
    for (int64_t i = 0; i < attrs.sample_per_part; ++i)
      for (int64_t j = 0; j < attrs.sample_per_part; ++j) {
        const Place<T> row = place_between(b.top + static_cast<T>(i) * b.row_step, shape[2]);
        const Place<T> column = place_between(b.left + static_cast<T>(j) * b.column_step, shape[3]);
        if (row.has_low && column.has_low) f(Taps<T>(row, column, shape[3]));
      }
  }

  const RegionAttrs& attrs;
  const Shape& shape;
  const T* data;

 private:
  int64_t trans_index(int64_t n, int64_t channel, int64_t row, int64_t column) const {
    const int64_t parts = attrs.parts(), one = channel / (attrs.output_dim / classes_);
    return ((n * classes_ + one) * 2 * parts + row * parts / attrs.pooled_size) * parts +
           column * parts / attrs.pooled_size;
  }
  T moved(int64_t index) const { return trans_ ? trans_[index] * static_cast<T>(attrs.trans_std) : T{0}; }

  const T *rois_, *trans_;
  int64_t classes_;
};

template <class T>
void pool(KernelContext& c, const RegionAttrs& a) {
  const Regions<T> regions(c, a, 0);
  const Result<T> result(c, c.output(0));
  parallel_for(c.output(0).size, 16, region_cost(a, c.input(1).shape), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const Bin<T> bin = regions.bin(k);
      T sum = 0, count = 0;
      regions.for_each_sample(bin, [&](const Taps<T>& taps) {
        sum += taps.value(regions.data + bin.plane);
        count += 1;
      });
      result.data()[k] = count == 0 ? T{0} : sum / count;
    }
  });
  result.finish();
}

template <class T>
void pool_back(KernelContext& c, const RegionAttrs& a) {
  const Regions<T> regions(c, a, 1);
  const T* head = numbers_of<T>(c, c.input(0));
  std::vector<Result<T>> results;
  for (size_t k = 0; k < c.output_count(); ++k) results.emplace_back(c, c.output(k));
  T* moved = a.no_trans ? nullptr : results[1].data();
  for (int64_t k = 0; k < c.input(0).size; ++k) {
    const Bin<T> bin = regions.bin(k);
    T count = 0;
    regions.for_each_sample(bin, [&](const Taps<T>&) { count += 1; });
    regions.for_each_sample(bin, [&](const Taps<T>& taps) {
      const T amount = head[k] / count;
      taps.add_to(results[0].data() + bin.plane, amount);
      if (!moved) return;
      const T step = amount * static_cast<T>(a.trans_std);
      moved[bin.trans] += step * bin.width * taps.slope_across(regions.data + bin.plane);
      moved[bin.trans + regions.parts_area()] += step * bin.height * taps.slope_down(regions.data + bin.plane);
    });
  }
  for (const Result<T>& result : results) result.finish();
}

RegionAttrs moved_region() {
  return {
      .spatial_scale = 0.5, .output_dim = 2, .group_size = 2, .pooled_size = 2, .sample_per_part = 2, .trans_std = 0.1};
}
RegionAttrs still_sample() {
  return {.spatial_scale = 1, .output_dim = 1, .group_size = 1, .pooled_size = 3, .no_trans = true};
}
SampleArray roi(double x, double y, double right, double bottom) {
  SampleArray array = values({0, x, y, right, bottom});
  array.shape = {1, 5};
  return array;
}

void set_gradients(Gradient& g, const RegionAttrs& a) {
  std::vector<NDArray> inputs{g.head()};
  for (size_t k = 0; k < g.input_count(); ++k) inputs.push_back(g.input(k));
  const OpDef& op = find_op("_backward_DeformablePSROIPooling");
  const std::vector<NDArray> results = invoke_all(op, g.attrs(), inputs);
  g.set(0, results[0]);
  if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
  if (!a.no_trans) g.set(2, results[1]);
}

OpDef region_pooling() {
  using A = RegionAttrs;
  return general<A>(
      {.name = "_contrib_DeformablePSROIPooling",
       .python = {"nd.contrib.DeformablePSROIPooling"},
       .doc = "Means over the parts of regions of data (batch, channels, height, width): rois (n, 5) are (image, x1, "
              "y1, x2, y2), trans (n, 2 classes, part_size, part_size) moves parts along columns and rows. Each part "
              "is read from channels of its own. The result has shape (n, output_dim, pooled_size, pooled_size). The "
              "gradient of rois is zero. Raises MXNetError for shapes or dtypes that do not fit, TypeError for "
              "integers, and IndexError, when the result is read, for an image that is not there.",
       .inputs = {"data", "rois", "trans"},
       .optional_inputs = 1,
       .counted_outputs = always(2),
       .array_names = {.outputs = {"output"}},
       .input_count = [](const A& a) -> size_t { return a.no_trans ? 2 : 3; },
       .infer =
           [](Infer& i, const A& a) {
             check_regions(i, a, 0);
             i.cost(region_cost(a, i.shape(1)));
             i.output(region_shape(a, i.shape(1)), i.dtype(0));
           },
       .kernel = [](KernelContext& c,
                    const A& a) { with_floats(c.output(0).dtype, [&]<class T>() { pool<T>(c, a); }); },
       .gradient = set_gradients,
       .samples = {{{uniform({1, 8, 5, 6}), roi(1, 1, 9, 7), uniform({1, 4, 2, 2})}, make_attrs(moved_region())},
                   {{uniform({1, 1, 5, 6}), roi(0, 1, 4, 4)}, make_attrs(still_sample())}}});
}

OpDef region_gradient() {
  using A = RegionAttrs;
  return general<A>(
      {.name = "_backward_DeformablePSROIPooling",
       .doc = "The gradients of images and offsets.",
       .inputs = {"gradient", "data", "rois", "trans"},
       .optional_inputs = 1,
       .output_count = [](const A& a) -> size_t { return a.no_trans ? 1 : 2; },
       .input_count = [](const A& a) -> size_t { return a.no_trans ? 3 : 4; },
       .infer =
           [](Infer& i, const A& a) {
             check_regions(i, a, 1);
             expect_type(i, 0, region_shape(a, i.shape(2)), i.dtype(1));
             i.cost(2 * region_cost(a, i.shape(2)));
             i.output(i.shape(1), i.dtype(1));
             if (!a.no_trans) i.output(i.shape(3), i.dtype(3));
           },
       .kernel = [](KernelContext& c,
                    const A& a) { with_floats(c.output(0).dtype, [&]<class T>() { pool_back<T>(c, a); }); },
       .samples = {{{uniform({1, 2, 2, 2}), uniform({1, 8, 5, 6}), roi(1, 1, 9, 7), uniform({1, 4, 2, 2})},
                    make_attrs(moved_region())}}});
}

}  // namespace

Operators deformable_pooling_operators() { return {region_pooling(), region_gradient()}; }

}  // namespace headrace
