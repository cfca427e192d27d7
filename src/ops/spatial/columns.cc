// im2col and col2im: the windows of a convolution as columns of a matrix, and columns added up into images.
#include "ops/spatial/columns.h"

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/convolution/image.h"
#include "ops/families.h"
#include "ops/spatial/numbers.h"

namespace headrace {
namespace {

struct Im2colAttrs {
  Shape kernel, stride, dilate, pad;
  static constexpr auto kFields =
      fields(field(&Im2colAttrs::kernel, "kernel", "Extent of the window: (w,), (h, w) or (d, h, w).").required(),
             field(&Im2colAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
             field(&Im2colAttrs::dilate, "dilate", "Step between the window's elements per axis; () is 1 everywhere."),
             field(&Im2colAttrs::pad, "pad", "Zeros at both ends of each axis; () is none."));
};

struct Col2imAttrs {
  Shape output_size, kernel, stride, dilate, pad;
  static constexpr auto kFields = fields(
      field(&Col2imAttrs::output_size, "output_size", "Extents of the images: (w,), (h, w) or (d, h, w).").required(),
      field(&Col2imAttrs::kernel, "kernel", "Extent of the window: (w,), (h, w) or (d, h, w).").required(),
      field(&Col2imAttrs::stride, "stride", "Step of the window per axis; () is 1 everywhere."),
      field(&Col2imAttrs::dilate, "dilate", "Step between the window's elements per axis; () is 1 everywhere."),
      field(&Col2imAttrs::pad, "pad", "Zeros at both ends of each axis; () is none."));
};

template <class A>
ColumnGrid column_grid(const char* name, const A& a, const Shape& extents) {
  const size_t n = a.kernel.size();
  check(n >= 1 && n <= 3 && extents.size() == n, ErrorKind::kRuntime,
        "{}: kernel must have one number for each spatial axis, which are 1, 2 or 3; got kernel {} for images of {}",
        name, to_string(a.kernel), to_string(extents));
  const Shape kernel = per_axis(name, "kernel", a.kernel, n, 1, 1),
              stride = per_axis(name, "stride", a.stride, n, 1, 1),
              dilate = per_axis(name, "dilate", a.dilate, n, 1, 1), pad = per_axis(name, "pad", a.pad, n, 0, 0);
  ColumnGrid grid;
  for (size_t k = 0; k < n; ++k) {
    const int64_t span = dilate[k] * (kernel[k] - 1) + 1, padded = extents[k] + 2 * pad[k];
    check(span <= padded, ErrorKind::kRuntime,
          "{}: kernel size exceeds input: the window covers {} elements of spatial axis {}, which has {} with padding",
          name, span, k, padded);
    grid.axes[3 - n + k] = {extents[k], (padded - span) / stride[k] + 1, kernel[k], stride[k], dilate[k], pad[k]};
  }
  return grid;
}

// The windows of an axis whose element `k` lies inside the image, and where it lies in the first of them.
struct Span {
  int64_t begin, end, place;
};

Span inside(const ColumnAxis& a, int64_t k) {
  const int64_t shift = k * a.dilate - a.pad;
  const int64_t begin = std::min(shift >= 0 ? 0 : (a.stride - 1 - shift) / a.stride, a.windows);
  const int64_t end = shift >= a.extent ? begin : std::clamp((a.extent - 1 - shift) / a.stride + 1, begin, a.windows);
  return {begin, end, begin * a.stride + shift};
}

// Calls f(window, place, count) for the lines of consecutive windows whose element number `element` lies inside.
template <class F>
void for_each_line(const ColumnGrid& grid, int64_t element, F&& f) {
  const auto& [depth, height, width] = grid.axes;
  const int64_t rows = element / width.kernel;
  const Span d = inside(depth, rows / height.kernel), h = inside(height, rows % height.kernel),
             w = inside(width, element % width.kernel);
  if (w.begin == w.end) return;
  for (int64_t i = d.begin; i < d.end; ++i)
    for (int64_t j = h.begin; j < h.end; ++j) {
      const int64_t z = d.place + (i - d.begin) * depth.stride, y = h.place + (j - h.begin) * height.stride;
      f((i * height.windows + j) * width.windows + w.begin, (z * height.extent + y) * width.extent + w.place,
        w.end - w.begin);
    }
}

template <class T>
void to_columns(KernelContext& c, const ColumnGrid& grid) {
  const T* images = numbers_of<T>(c, c.input(0));
  const Result<T> result(c, c.output(0));
  const int64_t elements = grid.elements(), windows = grid.windows(), area = grid.area(), step = grid.axes[2].stride;
  parallel_for(c.output(0).size / windows, 1, static_cast<double>(c.output(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for_each_line(grid, row % elements, [&](int64_t window, int64_t place, int64_t count) {
        const T* from = images + row / elements * area + place;
        T* to = result.data() + row * windows + window;
        if (step == 1)
          std::copy_n(from, count, to);
        else
          for (int64_t k = 0; k < count; ++k) to[k] = from[k * step];
      });
  });
  result.finish();
}

template <class T>
void to_images(KernelContext& c, const ColumnGrid& grid) {
  const T* columns = numbers_of<T>(c, c.input(0));
  const Result<T> result(c, c.output(0));
  const int64_t elements = grid.elements(), windows = grid.windows(), area = grid.area(), step = grid.axes[2].stride;
  parallel_for(c.output(0).size / area, 1, static_cast<double>(c.input(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * elements; row < end * elements; ++row)
      for_each_line(grid, row % elements, [&](int64_t window, int64_t place, int64_t count) {
        const T* from = columns + row * windows + window;
        T* to = result.data() + row / elements * area + place;
        if (step == 1)
          for (int64_t k = 0; k < count; ++k) to[k] += from[k];
        else
          for (int64_t k = 0; k < count; ++k) to[k * step] += from[k];
      });
  });
  result.finish();
}

void gather_on_host(KernelContext& c, const ColumnGrid& grid) {
  with_floats(c.output(0).dtype, [&]<class T>() { to_columns<T>(c, grid); });
}

void add_on_host(KernelContext& c, const ColumnGrid& grid) {
  with_floats(c.output(0).dtype, [&]<class T>() { to_images<T>(c, grid); });
}

Shape spatial_of(const Shape& images) { return images.size() < 2 ? Shape{} : Shape(images.begin() + 2, images.end()); }

OpDef im2col() {
  using A = Im2colAttrs;
  return general<A>(
      {.name = "im2col",
       .python = {"nd.im2col"},
       .doc = "The windows of a convolution over images (batch, channels, *spatial) as columns: shape (batch, channels "
              "times elements of the kernel, windows). Raises MXNetError for attributes and shapes that do not fit, "
              "TypeError for integers.",
       .infer =
           [](Infer& i, const A& a) {
             const Shape& images = i.shape(0);
             expect_floats(i, 0);
             const ColumnGrid grid = column_grid(i.name(), a, spatial_of(images));
             i.output(Shape{images[0], multiply_extents(images[1], grid.elements(), i.name()), grid.windows()},
                      i.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const A& a) {
             if (c.output(0).size == 0) return;
             const ColumnGrid grid = column_grid(c.name(), a, spatial_of(c.input(0).shape));
             gather_columns(c, grid);
           },
       .gradient =
           [](Gradient& g, const A& a) {
             const Col2imAttrs back{spatial_of(g.input(0).shape()), a.kernel, a.stride, a.dilate, a.pad};
             g.set(0, call(find_op("col2im"), make_attrs(back), {g.head()}));
           },
       .saves_inputs = kNothing,
       .samples = {{{uniform({2, 3, 4, 5})},
                    make_attrs(A{.kernel = {3, 2}, .stride = {1, 2}, .dilate = {1, 2}, .pad = {2, 1}})},
                   {{uniform({2, 2, 5})}, make_attrs(A{.kernel = {3}})},
                   {{uniform({1, 2, 3, 3, 2})}, make_attrs(A{.kernel = {2, 2, 1}, .pad = {1, 0, 2}})}}});
}

OpDef col2im() {
  using A = Col2imAttrs;
  return general<A>(
      {.name = "col2im",
       .python = {"nd.col2im"},
       .doc = "Columns (batch, channels times elements of the kernel, windows), as im2col makes them, added up into "
              "images (batch, channels, *output_size): the transpose of im2col. Raises MXNetError for attributes and "
              "shapes that do not fit, TypeError for integers.",
       .infer =
           [](Infer& i, const A& a) {
             const Shape& columns = i.shape(0);
             expect_floats(i, 0);
             for (int64_t extent : a.output_size)
               i.require(extent > 0, ErrorKind::kRuntime, "incorrect output size: {}", to_string(a.output_size));
             const ColumnGrid grid = column_grid(i.name(), a, a.output_size);
             i.require(columns.size() == 3 && columns[1] % grid.elements() == 0 && columns[2] == grid.windows(),
                       ErrorKind::kRuntime,
                       "output size does not match convolution parameters: data must have shape (batch, a multiple of "
                       "{}, {}), got {}",
                       grid.elements(), grid.windows(), to_string(columns));
             Shape images{columns[0], columns[1] / grid.elements()};
             for (int64_t extent : a.output_size) images.push_back(extent);
             i.output(images, i.dtype(0));
             i.cost(100 + static_cast<double>(i.size(0)));
           },
       .kernel =
           [](KernelContext& c, const A& a) {
             if (c.output(0).size == 0) return;
             const ColumnGrid grid = column_grid(c.name(), a, a.output_size);
             add_columns(c, grid);
           },
       .gradient =
           [](Gradient& g, const A& a) {
             const Im2colAttrs back{a.kernel, a.stride, a.dilate, a.pad};
             g.set(0, call(find_op("im2col"), make_attrs(back), {g.head()}));
           },
       .saves_inputs = kNothing,
       .samples = {{{uniform({2, 6, 8})}, make_attrs(A{.output_size = {3, 4}, .kernel = {2, 1}, .stride = {1, 1}})},
                   {{uniform({1, 4, 6})},
                    make_attrs(
                        A{.output_size = {4, 5}, .kernel = {2, 2}, .stride = {2, 2}, .dilate = {2, 1}, .pad = {1, 1}})},
                   {{uniform({2, 6, 3})}, make_attrs(A{.output_size = {5}, .kernel = {3}})}}});
}

}  // namespace

const decltype(gather_columns) gather_columns{"gather_columns", gather_on_host};
const decltype(add_columns) add_columns{"add_columns", add_on_host};

Operators column_operators() { return {im2col(), col2im()}; }

}  // namespace headrace
