// Correlation: patches of one image compared with patches of another nearby.

#include <cmath>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/families.h"
#include "ops/spatial/bounds.h"
#include "ops/spatial/numbers.h"

namespace headrace {
namespace {

struct CorrelationAttrs {
  int64_t kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1, pad_size = 0;
  bool is_multiply = true;
  static constexpr auto kFields =
      fields(field(&CorrelationAttrs::kernel_size, "kernel_size", "Rows and columns of a patch, an odd number.")
                 .between(1, kMostInt),
             field(&CorrelationAttrs::max_displacement, "max_displacement", "How far away patches of data2 may be.")
                 .between(0, kMostInt),
             field(&CorrelationAttrs::stride1, "stride1", "Step between the patches of data1.").between(1, kMostInt),
             field(&CorrelationAttrs::stride2, "stride2", "Step between the patches of data2.").between(1, kMostInt),
             field(&CorrelationAttrs::pad_size, "pad_size", "Zeros around the images.").between(0, kMostInt),
             field(&CorrelationAttrs::is_multiply, "is_multiply", "Whether elements are multiplied; else: |a - b|."));
};

// How patches lie: of data1 at (i, j) * stride1 + reach, of data2 a displacement away, within padded images.
struct CorrelationLayout {
  int64_t batch, channels, height, width;  // of the images
  int64_t padded_height, padded_width;
  int64_t reach, step, pad, kernel;
  int64_t radius, displacement, side;  // of the neighbourhood, in steps of `displacement`
  int64_t rows, columns;               // of the result
  bool is_product;

  int64_t neighbours() const { return side * side; }
  int64_t padded_area() const { return padded_height * padded_width; }
  double elements() const { return static_cast<double>(kernel * kernel * channels); }
  double cost() const {
    return 500 + 0.5 * elements() * static_cast<double>(batch * rows * columns) * static_cast<double>(neighbours());
  }
};

CorrelationLayout layout_of(const Shape& data, const CorrelationAttrs& a) {
  CorrelationLayout l{};
  l.batch = data[0], l.channels = data[1], l.height = data[2], l.width = data[3];
  l.reach = a.max_displacement, l.step = a.stride1, l.pad = a.pad_size, l.kernel = a.kernel_size;
  l.padded_height = l.height + 2 * l.pad, l.padded_width = l.width + 2 * l.pad;
  l.displacement = a.stride2, l.radius = l.reach / a.stride2, l.side = 2 * l.radius + 1;
  const int64_t border = 2 * (l.reach + (l.kernel - 1) / 2);
  const auto patches = [&](int64_t padded) { return padded <= border ? 0 : (padded - border + l.step - 1) / l.step; };
  l.rows = patches(l.padded_height), l.columns = patches(l.padded_width);
  l.is_product = a.is_multiply;
  return l;
}

// Checks (data1, data2), which begin at input `first`.
CorrelationLayout checked_layout(const Infer& i, const CorrelationAttrs& a, size_t first) {
  const Shape& data = i.shape(first);
  expect_floats(i, first);
  i.require(data.size() == 4, ErrorKind::kRuntime,
            "data should be a 4D tensor (batch, channels, height, width), got {}", to_string(data));
  expect_type(i, first + 1, data, i.dtype(first));
  i.require(a.kernel_size % 2 == 1, ErrorKind::kRuntime, "kernel size should be odd number, got {}", a.kernel_size);
  require_from(i.name(), "max_displacement", a.max_displacement, 0);
  require_from(i.name(), "kernel_size", a.kernel_size, 1);
  require_from(i.name(), "stride1", a.stride1, 1);
  require_from(i.name(), "stride2", a.stride2, 1);
  require_from(i.name(), "pad_size", a.pad_size, 0);
  const CorrelationLayout l = layout_of(data, a);
  element_count(Shape{l.batch, l.channels, l.padded_height, l.padded_width});  // refuses what cannot be addressed
  i.require(l.rows >= 1 && l.columns >= 1, ErrorKind::kRuntime,
            "Correlation cannot be done with current settings. Neighborhood and kernel don't fit in blob: "
            "max_displacement {} and kernel_size {} in padded images of ({}, {})",
            a.max_displacement, a.kernel_size, l.padded_height, l.padded_width);
  return l;
}

Shape correlation_shape(const CorrelationLayout& l) { return {l.batch, l.neighbours(), l.rows, l.columns}; }

// The images with zeros around them.
template <class T>
const T* padded(KernelContext& c, const Tensor& tensor, const CorrelationLayout& l) {
  const T* from = numbers_of<T>(c, tensor);
  if (l.pad == 0) return from;
  const int64_t planes = l.batch * l.channels;
  T* to = c.workspace<T>(planes * l.padded_area());
  std::fill_n(to, planes * l.padded_area(), T{0});
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t y = 0; y < l.height; ++y)
      std::copy_n(from + (plane * l.height + y) * l.width, l.width,
                  to + plane * l.padded_area() + (y + l.pad) * l.padded_width + l.pad);
  return to;
}

// Calls f(row of the result, place in data1, place in data2) for each row of one displacement of an image, each channel
// and each element of the kernel: element j of the row belongs to places + j * step.
template <class F>
void for_each_row(const CorrelationLayout& l, int64_t image, int64_t neighbour, F&& f) {
  const int64_t down = (neighbour / l.side - l.radius) * l.displacement;
  const int64_t across = (neighbour % l.side - l.radius) * l.displacement;
  for (int64_t i = 0; i < l.rows; ++i)
    for (int64_t channel = 0; channel < l.channels; ++channel)
      for (int64_t h = 0; h < l.kernel; ++h)
        for (int64_t w = 0; w < l.kernel; ++w) {
          const int64_t plane = (image * l.channels + channel) * l.padded_area();
          const int64_t first = plane + (i * l.step + l.reach + h) * l.padded_width + l.reach + w;
          f(((image * l.neighbours() + neighbour) * l.rows + i) * l.columns, first,
            first + down * l.padded_width + across);
        }
}

template <class T>
void correlate(KernelContext& c, const CorrelationLayout& l) {
  const T *left = padded<T>(c, c.input(0), l), *right = padded<T>(c, c.input(1), l);
  const Result<T> result(c, c.output(0));
  parallel_for(l.batch * l.neighbours(), 1, l.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for_each_row(l, k / l.neighbours(), k % l.neighbours(), [&](int64_t row, int64_t first, int64_t second) {
        const T *a = left + first, *b = right + second;
        T* sum = result.data() + row;
        if (l.is_product)
          for (int64_t j = 0; j < l.columns; ++j) sum[j] += a[j * l.step] * b[j * l.step];
        else
          for (int64_t j = 0; j < l.columns; ++j) sum[j] += std::abs(a[j * l.step] - b[j * l.step]);
      });
      T* map = result.data() + k * l.rows * l.columns;
      for (int64_t j = 0; j < l.rows * l.columns; ++j) map[j] /= static_cast<T>(l.elements());
    }
  });
  result.finish();
}

// One row of the result's gradient, added to those of both images. Of equal elements the first counts as the larger.
template <class T>
void add_row_gradients(const CorrelationLayout& l, const T* head, const T* a, const T* b, T* to_a, T* to_b) {
  for (int64_t j = 0; j < l.columns; ++j) {
    const int64_t k = j * l.step;
    const T amount = head[j] / static_cast<T>(l.elements());
    const T sign = a[k] >= b[k] ? T{1} : T{-1};
    to_a[k] += amount * (l.is_product ? b[k] : sign);
    to_b[k] += amount * (l.is_product ? a[k] : -sign);
  }
}

// The middle of padded images.
template <class T>
void crop(const T* from, const CorrelationLayout& l, const Result<T>& to) {
  for (int64_t row = 0; row < l.batch * l.channels * l.height; ++row)
    std::copy_n(from + row / l.height * l.padded_area() + (row % l.height + l.pad) * l.padded_width + l.pad, l.width,
                to.data() + row * l.width);
  to.finish();
}

template <class T>
void correlate_back(KernelContext& c, const CorrelationLayout& l) {
  const T *head = numbers_of<T>(c, c.input(0)), *left = padded<T>(c, c.input(1), l),
          *right = padded<T>(c, c.input(2), l);
  const int64_t size = l.batch * l.channels * l.padded_area();
  T *to_left = c.workspace<T>(size), *to_right = c.workspace<T>(size);
  std::fill_n(to_left, size, T{0});
  std::fill_n(to_right, size, T{0});
  parallel_for(l.batch, 1, 3 * l.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image)
      for (int64_t k = 0; k < l.neighbours(); ++k)
        for_each_row(l, image, k, [&](int64_t row, int64_t first, int64_t second) {
          add_row_gradients(l, head + row, left + first, right + second, to_left + first, to_right + second);
        });
  });
  crop(to_left, l, Result<T>(c, c.output(0)));
  crop(to_right, l, Result<T>(c, c.output(1)));
}

CorrelationAttrs padded_sample() {
  return {.kernel_size = 3, .max_displacement = 2, .stride1 = 2, .stride2 = 2, .pad_size = 2};
}
CorrelationAttrs difference_sample() { return {.is_multiply = false}; }

OpDef correlation() {
  using A = CorrelationAttrs;
  return general<A>(
      {.name = "Correlation",
       .python = {"nd.Correlation"},
       .doc = "How much patches of data1 are like patches of data2, both (batch, channels, height, width), at most "
              "max_displacement rows and columns away: the mean over a patch of the elements' products, or of their "
              "distances. The result has shape (batch, displacements, rows, columns). Raises MXNetError when "
              "attributes, shapes or dtypes do not fit, TypeError for integers.",
       .inputs = {"data1", "data2"},
       .counted_outputs = always(3),
       .array_names = {.outputs = {"output"}},
       .infer =
           [](Infer& i, const A& a) {
             const CorrelationLayout l = checked_layout(i, a, 0);
             i.cost(l.cost());
             i.output(correlation_shape(l), i.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const A& a) {
             const CorrelationLayout l = layout_of(c.input(0).shape, a);
             with_floats(c.output(0).dtype, [&]<class T>() { correlate<T>(c, l); });
           },
       .gradient =
           [](Gradient& g, const A&) {
             const NDArray inputs[] = {g.head(), g.input(0), g.input(1)};
             g.set(0, find_op("_backward_Correlation"), g.attrs(), inputs);
           },
       .samples = {{{uniform({2, 3, 5, 6}), uniform({2, 3, 5, 6})}, make_attrs(padded_sample())},
                   {{uniform({1, 2, 4, 3}), uniform({1, 2, 4, 3})}, make_attrs(difference_sample())}}});
}

OpDef correlation_gradient() {
  using A = CorrelationAttrs;
  return general<A>({.name = "_backward_Correlation",
                     .doc = "The gradients of two images that were correlated.",
                     .inputs = {"gradient", "data1", "data2"},
                     .outputs = 2,
                     .infer =
                         [](Infer& i, const A& a) {
                           const CorrelationLayout l = checked_layout(i, a, 1);
                           expect_type(i, 0, correlation_shape(l), i.dtype(1));
                           i.cost(3 * l.cost());
                           for (size_t k : {1, 2}) i.output(i.shape(k), i.dtype(k));
                         },
                     .kernel =
                         [](KernelContext& c, const A& a) {
                           const CorrelationLayout l = layout_of(c.input(1).shape, a);
                           with_floats(c.output(0).dtype, [&]<class T>() { correlate_back<T>(c, l); });
                         },
                     .samples = {{{uniform({2, 9, 2, 2}), uniform({2, 3, 5, 6}), uniform({2, 3, 5, 6})},
                                  make_attrs(padded_sample())}}});
}

}  // namespace

Operators correlation_operators() { return {correlation(), correlation_gradient()}; }

}  // namespace headrace
