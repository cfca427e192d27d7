// GridGenerator: where a BilinearSampler looks. Coordinates go from -1 to 1 over an image.
#include "ops/spatial/grid.h"

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/families.h"
#include "ops/spatial/grid_places.h"
#include "ops/spatial/numbers.h"

namespace headrace {
namespace {

struct GridAttrs {
  std::string transform_type = "affine";
  Shape target_shape = {0, 0};
  static constexpr auto kFields = fields(
      field(&GridAttrs::transform_type, "transform_type",
            "affine: data (batch, 6) are matrices of two rows and three columns; warp: data (batch, 2, height, width) "
            "say how many columns and rows away from each element the sampler looks.")
          .required()
          .one_of("affine|warp"),
      field(&GridAttrs::target_shape, "target_shape", "Of affine: (height, width) of the result."));
};

bool is_affine(const GridAttrs& a) { return a.transform_type == "affine"; }

Shape target_of(const Infer& i, const GridAttrs& a) {
  const Shape& target = a.target_shape;
  i.require(target.size() == 2 && target[0] > 0 && target[1] > 0, ErrorKind::kRuntime,
            "incorrect target_shape: two positive numbers (height, width) are needed, got {}", to_string(target));
  return target;
}

void check_warp(const Infer& i) {
  i.require(i.shape(0).size() == 4 && i.shape(0)[1] == 2, ErrorKind::kRuntime,
            "if transform_type is warp, data must have shape (batch, 2, height, width), got {}", to_string(i.shape(0)));
}

void infer_grid(Infer& i, const GridAttrs& a) {
  expect_floats(i, 0);
  const Shape& data = i.shape(0);
  if (is_affine(a)) {
    i.require(data.size() == 2 && data[1] == 6, ErrorKind::kRuntime,
              "if transform_type is affine, data must have shape (batch, 6), got {}", to_string(data));
    const Shape target = target_of(i, a);
    i.output(Shape{data[0], 2, target[0], target[1]}, i.dtype(0));
  } else {
    check_warp(i);
    i.output(data, i.dtype(0));
  }
}

void infer_back(Infer& i, const GridAttrs& a) {
  expect_floats(i, 0);
  if (is_affine(a)) {
    const Shape target = target_of(i, a);
    const int64_t batch = i.shape(0).empty() ? 0 : i.shape(0)[0];
    expect_shape(i, 0, Shape{batch, 2, target[0], target[1]});
    i.output(Shape{batch, 6}, i.dtype(0));
  } else {
    check_warp(i);
    i.output(i.shape(0), i.dtype(0));
  }
}

template <class T>
void affine_plane(const T* row, int64_t height, int64_t width, T* out) {
  const T down = grid_step<T>(height), across = grid_step<T>(width);
  for (int64_t h = 0; h < height; ++h, out += width) {
    const T shift = affine_shift(row, grid_coordinate(h, down));
    for (int64_t w = 0; w < width; ++w) out[w] = row[0] * grid_coordinate(w, across) + shift;
  }
}

template <class T>
void affine_plane_back(const T* head, int64_t height, int64_t width, T* row) {
  const T down = grid_step<T>(height), across = grid_step<T>(width);
  for (int64_t h = 0; h < height; ++h, head += width) {
    T sum = 0, moment = 0;
    for (int64_t w = 0; w < width; ++w) {
      sum += head[w];
      moment += head[w] * grid_coordinate(w, across);
    }
    row[0] += moment;
    row[1] += sum * grid_coordinate(h, down);
    row[2] += sum;
  }
}

template <class T>
void warp_plane(const T* x, int64_t height, int64_t width, bool is_column, bool has_place, T* out) {
  const T half = half_extent<T>(is_column ? width : height);
  for (int64_t h = 0; h < height; ++h, x += width, out += width)
    for (int64_t w = 0; w < width; ++w) out[w] = warped(x[w], is_column ? w : h, half, has_place);
}

template <class T>
void make_planes(KernelContext& c, bool is_affine, bool is_back) {
  const Shape& grid = is_back ? c.input(0).shape : c.output(0).shape;
  const int64_t height = grid[2], width = grid[3], area = height * width;
  const T* x = numbers_of<T>(c, c.input(0));
  const Result<T> y(c, c.output(0));
  for (int64_t plane = 0; plane < 2 * grid[0]; ++plane) {
    if (!is_affine)
      warp_plane(x + plane * area, height, width, plane % 2 == 0, !is_back, y.data() + plane * area);
    else if (is_back)
      affine_plane_back(x + plane * area, height, width, y.data() + plane * 3);
    else
      affine_plane(x + plane * 3, height, width, y.data() + plane * area);
  }
  y.finish();
}

void grids_on_host(KernelContext& c, bool is_affine, bool is_back) {
  with_floats(c.output(0).dtype, [&]<class T>() { make_planes<T>(c, is_affine, is_back); });
}

GridAttrs affine_sample() { return {.target_shape = {3, 4}}; }
GridAttrs warp_sample() { return {.transform_type = "warp"}; }

OpDef grid_generator() {
  using A = GridAttrs;
  return general<A>(
      {.name = "GridGenerator",
       .python = {"nd.GridGenerator"},
       .doc = "Places where a BilinearSampler looks, columns in (n, 0) and rows in (n, 1), from -1 to 1 over an image: "
              "those of an affine map of the result's elements (affine), or the elements' own moved by data (warp). "
              "Raises MXNetError for shapes that do not fit, TypeError for integers.",
       .counted_outputs = always(2),
       .array_names = {.outputs = {"output"}},
       .infer = infer_grid,
       .kernel = [](KernelContext& c, const A& a) { make_grids(c, is_affine(a), false); },
       .gradient = [](Gradient& g,
                      const A&) { g.set(0, call(find_op("_backward_GridGenerator"), g.attrs(), {g.head()})); },
       .saves_inputs = kNothing,
       .samples = {{{uniform({2, 6})}, make_attrs(affine_sample())},
                   {{uniform({2, 2, 3, 4})}, make_attrs(warp_sample())}}});
}

OpDef grid_gradient() {
  using A = GridAttrs;
  return general<A>({.name = "_backward_GridGenerator",
                     .doc = "The gradient of what a grid was made of.",
                     .inputs = {"gradient"},
                     .infer = infer_back,
                     .kernel = [](KernelContext& c, const A& a) { make_grids(c, is_affine(a), true); },
                     // The map is linear but for the elements' own places.
                     .gradient =
                         [](Gradient& g, const A& a) {
                           g.set(0, call(is_affine(a) ? find_op("GridGenerator") : g.op(), g.attrs(), {g.head()}));
                         },
                     .saves_inputs = kNothing,
                     .samples = {{{uniform({2, 2, 3, 4})}, make_attrs(affine_sample())},
                                 {{uniform({2, 2, 3, 4})}, make_attrs(warp_sample())}}});
}

}  // namespace

const decltype(make_grids) make_grids{"make_grids", grids_on_host};

Operators grid_operators() { return {grid_generator(), grid_gradient()}; }

}  // namespace headrace
