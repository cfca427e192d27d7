// BilinearSampler and SpatialTransformer: images seen at the places of a grid.
#include "ops/spatial/sampler.h"

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/families.h"
#include "ops/spatial/bilinear.h"
#include "ops/spatial/numbers.h"

namespace headrace {
namespace {

struct SamplerAttrs {
  std::optional<bool> cudnn_off = {};
  static constexpr auto kFields =
      fields(field(&SamplerAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."));
};

// Checks (data, grid), which begin at input `first`; the shape of the samples.
Shape check_sampler(const Infer& i, size_t first) {
  const Shape &data = i.shape(first), &grid = i.shape(first + 1);
  expect_floats(i, first);
  i.require(i.dtype(first + 1) == i.dtype(first), ErrorKind::kRuntime, "data hold {}, but grid holds {}; convert one",
            dtype_name(i.dtype(first)), dtype_name(i.dtype(first + 1)));
  i.require(data.size() == 4, ErrorKind::kRuntime, "data must have 4 axes (batch, channels, height, width), got {}",
            to_string(data));
  i.require(grid.size() == 4 && grid[0] == data[0] && grid[1] == 2, ErrorKind::kRuntime,
            "grid must have shape ({}, 2, height, width) for data {}, got {}", data[0], to_string(data),
            to_string(grid));
  return {data[0], data[1], grid[2], grid[3]};
}

double sampling_cost(const Shape& samples) {
  return 1000 + 12.0 * static_cast<double>(element_count(Shape{samples[0], 2 + samples[1], samples[2], samples[3]}));
}

// The numbers of one call.
template <class T>
struct Sampling {
  Sampling(KernelContext& c, size_t first)
      : channels(c.input(first).shape[1]),
        height(c.input(first).shape[2]),
        width(c.input(first).shape[3]),
        out(c.input(first + 1).shape[2] * c.input(first + 1).shape[3]),
        data(numbers_of<T>(c, c.input(first))),
        grid(numbers_of<T>(c, c.input(first + 1))) {}

  int64_t area() const { return height * width; }
  const T* image(int64_t n) const { return data + n * channels * area(); }
  // Where sample k of image n is taken.
  T row(int64_t n, int64_t k) const { return sampled_place(grid[(2 * n + 1) * out + k], height); }
  T column(int64_t n, int64_t k) const { return sampled_place(grid[2 * n * out + k], width); }
  Taps<T> taps(int64_t n, int64_t k) const {
    return Taps<T>(place_among_zeros(row(n, k), height), place_among_zeros(column(n, k), width), width);
  }

  int64_t channels, height, width, out;
  const T *data, *grid;
};

template <class T>
void sample(KernelContext& c) {
  const Sampling<T> s(c, 0);
  const Result<T> result(c, c.output(0));
  parallel_for(c.output(0).shape[0] * s.out, 64, sampling_cost(c.output(0).shape), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / s.out, k = i % s.out;
      const Taps<T> taps = s.taps(n, k);
      const T nowhere = T{0} * (s.row(n, k) + s.column(n, k));  // nan where the place is none
      const T* plane = s.image(n);
      T* to = result.data() + n * s.channels * s.out + k;
      for (int64_t channel = 0; channel < s.channels; ++channel, plane += s.area(), to += s.out)
        *to = taps.value(plane) + nowhere;
    }
  });
  result.finish();
}

template <class T>
void sample_back(KernelContext& c) {
  const Sampling<T> s(c, 1);
  const T* head = numbers_of<T>(c, c.input(0));
  const Result<T> to_data(c, c.output(0)), to_grid(c, c.output(1));
  parallel_for(c.input(0).shape[0], 1, 2 * sampling_cost(c.input(0).shape), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t k = 0; k < s.out; ++k) {
        const Taps<T> taps = s.taps(n, k);
        T down = 0, across = 0;
        for (int64_t channel = 0; channel < s.channels; ++channel) {
          const T amount = head[(n * s.channels + channel) * s.out + k];
          const int64_t plane = (n * s.channels + channel) * s.area();
          taps.add_to(to_data.data() + plane, amount);
          down += amount * taps.slope_down(s.data + plane);
          across += amount * taps.slope_across(s.data + plane);
        }
        to_grid.data()[2 * n * s.out + k] = across * static_cast<T>(s.width - 1) / 2;
        to_grid.data()[(2 * n + 1) * s.out + k] = down * static_cast<T>(s.height - 1) / 2;
      }
  });
  to_data.finish();
  to_grid.finish();
}

void sample_on_host(KernelContext& c) {
  with_floats(c.output(0).dtype, [&]<class T>() { sample<T>(c); });
}

void spread_samples_on_host(KernelContext& c) {
  with_floats(c.output(0).dtype, [&]<class T>() { sample_back<T>(c); });
}

OpDef bilinear_sampler() {
  using A = SamplerAttrs;
  return general<A>(
      {.name = "BilinearSampler",
       .python = {"nd.BilinearSampler"},
       .doc = "Images (batch, channels, height, width) seen at the places of grid (batch, 2, rows, columns), by linear "
              "interpolation along both axes: grid[n, 0] are columns and grid[n, 1] rows, from -1 at the centre of the "
              "first to 1 at that of the last. Around the images there are zeros. The result has shape (batch, "
              "channels, rows, columns). Raises MXNetError for shapes or dtypes that do not fit, TypeError for "
              "integers.",
       .inputs = {"data", "grid"},
       .counted_outputs = always(2),
       .array_names = {.outputs = {"output"}},
       .infer =
           [](Infer& i, const A&) {
             const Shape samples = check_sampler(i, 0);
             i.cost(sampling_cost(samples));
             i.output(samples, i.dtype(0));
           },
       .kernel = [](KernelContext& c, const A&) { sample_images(c); },
       .gradient =
           [](Gradient& g, const A&) {
             const NDArray inputs[] = {g.head(), g.input(0), g.input(1)};
             g.set(0, find_op("_backward_BilinearSampler"), g.attrs(), inputs);
           },
       .samples = {{{uniform({2, 3, 4, 5}), uniform({2, 2, 3, 2}, -1.2, 1.2)}},
                   {{uniform({1, 1, 3, 1}), uniform({1, 2, 2, 4}, -0.9, 0.9)}}}});
}

OpDef sampler_gradient() {
  using A = SamplerAttrs;
  return general<A>({.name = "_backward_BilinearSampler",
                     .doc = "The gradients of images and grid.",
                     .inputs = {"gradient", "data", "grid"},
                     .outputs = 2,
                     .infer =
                         [](Infer& i, const A&) {
                           const Shape samples = check_sampler(i, 1);
                           expect_type(i, 0, samples, i.dtype(1));
                           i.cost(2 * sampling_cost(samples));
                           i.output(i.shape(1), i.dtype(1));
                           i.output(i.shape(2), i.dtype(1));
                         },
                     .kernel = [](KernelContext& c, const A&) { spread_samples(c); },
                     .samples = {{{uniform({2, 3, 3, 2}), uniform({2, 3, 4, 5}), uniform({2, 2, 3, 2})}}}});
}

struct TransformerAttrs {
  Shape target_shape = {0, 0};
  std::string transform_type = "affine", sampler_type = "bilinear";
  std::optional<bool> cudnn_off = {};
  static constexpr auto kFields =
      fields(field(&TransformerAttrs::target_shape, "target_shape", "(height, width) of the result."),
             field(&TransformerAttrs::transform_type, "transform_type", "affine alone.").required().one_of("affine"),
             field(&TransformerAttrs::sampler_type, "sampler_type", "bilinear alone.").required().one_of("bilinear"),
             field(&TransformerAttrs::cudnn_off, "cudnn_off", "Ignored; symbol files carry it."));
};

OpDef spatial_transformer() {
  using A = TransformerAttrs;
  return general<A>(
      {.name = "SpatialTransformer",
       .python = {"nd.SpatialTransformer"},
       .doc = "Images (batch, channels, height, width) moved by affine maps loc (batch, 6): a BilinearSampler at the "
              "places of an affine GridGenerator of target_shape. Raises MXNetError for shapes that do not fit.",
       .inputs = {"data", "loc"},
       .counted_outputs = always(3),
       .array_names = {.outputs = {"output"}},
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         const NDArray grid =
             call("GridGenerator", {in[1]}, {{"transform_type", a.transform_type}, {"target_shape", a.target_shape}});
         return {call("BilinearSampler", {in[0], grid})};
       },
       .samples = {{{uniform({2, 3, 4, 5}), uniform({2, 6}, -0.6, 0.6)}, make_attrs(A{.target_shape = {3, 2}})}}});
}

}  // namespace

const decltype(sample_images) sample_images{"sample_images", sample_on_host};
const decltype(spread_samples) spread_samples{"spread_samples", spread_samples_on_host};

Operators sampler_operators() { return {bilinear_sampler(), sampler_gradient(), spatial_transformer()}; }

}  // namespace headrace
