#include "ops/spatial/deformable_columns.h"

#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/families.h"
#include "ops/spatial/bilinear.h"
#include "ops/spatial/bounds.h"
#include "ops/spatial/numbers.h"

namespace headrace {
namespace {

struct Sizes {
  Sizes(const char* name, const DeformableWindow& w, const Shape& data)
      : channels(data[1] / w.groups),
        height(data[2]),
        width(data[3]),
        elements(w.elements()),
        windows(deformable_windows(name, w, height, width)) {}

  int64_t count() const { return windows[0] * windows[1]; }
  int64_t area() const { return height * width; }

  int64_t channels;  // of a group
  int64_t height, width, elements;
  Shape windows;
};

// Checks (data, offset, mask if there is one), which begin at input `first`; the shape of the columns.
Shape checked_columns(const Infer& i, const DeformableWindow& w, size_t first) {
  const Shape& data = i.shape(first);
  expect_floats(i, first);
  i.require(data.size() == 4, ErrorKind::kRuntime, "data must have 4 axes (batch, channels, height, width), got {}",
            to_string(data));
  require_from(i.name(), "groups", w.groups, 1);
  for (const Shape* numbers : {&w.kernel, &w.stride, &w.dilate, &w.pad})
    for (size_t k = 0; k < 2; ++k)
      require_from(i.name(), "kernel, stride, dilate or pad", numbers->size() == 2 ? (*numbers)[k] : -1,
                   numbers == &w.pad ? 0 : 1);
  i.require(data[1] % w.groups == 0, ErrorKind::kRuntime,
            "input num_filter must divide deformable group size: {} channels in {} groups", data[1], w.groups);
  const Sizes s(i.name(), w, data);
  const int64_t places = multiply_extents(w.groups, s.elements, i.name());
  expect_type(i, first + 1, {data[0], 2 * places, s.windows[0], s.windows[1]}, i.dtype(first));
  if (i.input_count() > first + 2)
    expect_type(i, first + 2, {data[0], places, s.windows[0], s.windows[1]}, i.dtype(first));
  return {data[0], multiply_extents(data[1], s.elements, i.name()), s.count()};
}

double columns_cost(const Shape& columns) { return 1000 + 4.0 * static_cast<double>(element_count(columns)); }

// The numbers of one call; inputs begin at `first`.
template <class T>
struct Deformation {
  Deformation(KernelContext& c, const DeformableWindow& w, size_t first)
      : window(w),
        sizes(c.name(), w, c.input(first).shape),
        data(numbers_of<T>(c, c.input(first))),
        offset(numbers_of<T>(c, c.input(first + 1))),
        mask(c.input_count() > first + 2 ? numbers_of<T>(c, c.input(first + 2)) : nullptr) {}

  // Without a mask places count from the first element to behind the last, as if the images went on there; with a mask
  // they are among zeros.
  Place<T> place(T x, int64_t extent) const {
    return mask ? place_among_zeros(x, extent) : place_before_end(x, extent);
  }
  // Of element `e` of the windows in a row, `k` being the first of these windows; `group` counts images too.
  Taps<T> taps(int64_t group, int64_t e, int64_t k) const {
    const int64_t row = k / sizes.windows[1], column = k % sizes.windows[1];
    const T* moved = offset + offset_index(group, e, k);
    const auto y = row * window.stride[0] - window.pad[0] + e / window.kernel[1] * window.dilate[0];
    const auto x = column * window.stride[1] - window.pad[1] + e % window.kernel[1] * window.dilate[1];
    return {place(static_cast<T>(y) + moved[0], sizes.height),
            place(static_cast<T>(x) + moved[sizes.count()], sizes.width), sizes.width};
  }
  int64_t offset_index(int64_t group, int64_t e, int64_t k) const {
    return 2 * (group * sizes.elements + e) * sizes.count() + k;
  }
  int64_t mask_index(int64_t group, int64_t e, int64_t k) const {
    return (group * sizes.elements + e) * sizes.count() + k;
  }
  T share(int64_t group, int64_t e, int64_t k) const { return mask ? mask[mask_index(group, e, k)] : T{1}; }
  // Of a channel of a group.
  int64_t plane(int64_t group, int64_t channel) const { return (group * sizes.channels + channel) * sizes.area(); }
  int64_t column(int64_t group, int64_t channel, int64_t e, int64_t k) const {
    return ((group * sizes.channels + channel) * sizes.elements + e) * sizes.count() + k;
  }

  const DeformableWindow& window;
  const Sizes sizes;
  const T *data, *offset, *mask;
};

template <class T>
void fill_columns(KernelContext& c, const DeformableWindow& w) {
  const Deformation<T> d(c, w, 0);
  const Result<T> result(c, c.output(0));
  const int64_t rows = c.input(0).shape[0] * w.groups * d.sizes.elements;
  parallel_for(rows, 1, columns_cost(c.output(0).shape), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t group = row / d.sizes.elements, e = row % d.sizes.elements;
      for (int64_t k = 0; k < d.sizes.count(); ++k) {
        const Taps<T> taps = d.taps(group, e, k);
        const T share = d.share(group, e, k);
        for (int64_t channel = 0; channel < d.sizes.channels; ++channel)
          result.data()[d.column(group, channel, e, k)] = share * taps.value(d.data + d.plane(group, channel));
      }
    }
  });
  result.finish();
}

template <class T>
struct Gradients {
  T *data, *offset, *mask;
};

// One group of one image.
template <class T>
void add_gradients(const Deformation<T>& d, int64_t group, const T* head, const Gradients<T>& to) {
  for (int64_t e = 0; e < d.sizes.elements; ++e)
    for (int64_t k = 0; k < d.sizes.count(); ++k) {
      const Taps<T> taps = d.taps(group, e, k);
      const T share = d.share(group, e, k);
      T down = 0, across = 0, value = 0;
      for (int64_t channel = 0; channel < d.sizes.channels; ++channel) {
        const T amount = head[d.column(group, channel, e, k)];
        const T* plane = d.data + d.plane(group, channel);
        taps.add_to(to.data + d.plane(group, channel), share * amount);
        down += amount * taps.slope_down(plane);
        across += amount * taps.slope_across(plane);
        if (to.mask) value += amount * taps.value(plane);
      }
      T* moved = to.offset + d.offset_index(group, e, k);
      moved[0] = share * down;
      moved[d.sizes.count()] = share * across;
      if (to.mask) to.mask[d.mask_index(group, e, k)] = value;
    }
}

template <class T>
void columns_back(KernelContext& c, const DeformableWindow& w) {
  const Deformation<T> d(c, w, 1);
  const T* head = numbers_of<T>(c, c.input(0));
  std::vector<Result<T>> results;
  for (size_t k = 0; k < c.output_count(); ++k) results.emplace_back(c, c.output(k));
  const Gradients<T> to{results[0].data(), results[1].data(), results.size() > 2 ? results[2].data() : nullptr};
  parallel_for(c.input(1).shape[0] * w.groups, 1, 2 * columns_cost(c.input(0).shape), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) add_gradients(d, group, head, to);
  });
  for (const Result<T>& result : results) result.finish();
}

void see_on_host(KernelContext& c, const DeformableWindow& w) {
  with_floats(c.output(0).dtype, [&]<class T>() { fill_columns<T>(c, w); });
}

void gradients_on_host(KernelContext& c, const DeformableWindow& w) {
  with_floats(c.output(0).dtype, [&]<class T>() { columns_back<T>(c, w); });
}

DeformableWindow moved_window() {
  return {.kernel = {3, 2}, .stride = {1, 2}, .dilate = {1, 2}, .pad = {1, 1}, .groups = 2};
}

OpDef columns() {
  using A = DeformableWindow;
  return general<A>(
      {.name = "_deformable_columns",
       .doc = "What windows over images (batch, channels, height, width) see when element e of a window is moved by "
              "offset[:, 2e] rows and offset[:, 2e + 1] columns, times mask[:, e] where there is one: shape (batch, "
              "channels times elements, windows).",
       .inputs = {"data", "offset", "mask"},
       .optional_inputs = 1,
       .infer =
           [](Infer& i, const A& a) {
             const Shape shape = checked_columns(i, a, 0);
             i.cost(columns_cost(shape));
             i.output(shape, i.dtype(0));
           },
       .kernel = [](KernelContext& c, const A& a) { see_deformed(c, a); },
       .gradient =
           [](Gradient& g, const A&) {
             std::vector<NDArray> inputs{g.head()};
             for (size_t k = 0; k < g.input_count(); ++k) inputs.push_back(g.input(k));
             g.set(0, find_op(g.input_count() > 2 ? "_backward_modulated_columns" : "_backward_deformable_columns"),
                   g.attrs(), inputs);
           },
       .samples = {{{uniform({2, 4, 3, 5}), uniform({2, 24, 3, 3}, -0.45, 0.45)}, make_attrs(moved_window())},
                   {{uniform({2, 4, 3, 5}), uniform({2, 24, 3, 3}), uniform({2, 12, 3, 3})},
                    make_attrs(moved_window())}}});
}

OpDef columns_gradient(bool is_modulated) {
  using A = DeformableWindow;
  std::vector<std::string> inputs{"gradient", "data", "offset"};
  std::vector<SampleArray> sample{uniform({2, 24, 9}), uniform({2, 4, 3, 5}), uniform({2, 24, 3, 3})};
  if (is_modulated) {
    inputs.emplace_back("mask");
    sample.push_back(uniform({2, 12, 3, 3}));
  }
  return general<A>({.name = is_modulated ? "_backward_modulated_columns" : "_backward_deformable_columns",
                     .doc = "The gradients of images, offsets and masks.",
                     .inputs = std::move(inputs),
                     .outputs = is_modulated ? size_t{3} : size_t{2},
                     .infer =
                         [](Infer& i, const A& a) {
                           const Shape shape = checked_columns(i, a, 1);
                           expect_type(i, 0, shape, i.dtype(1));
                           i.cost(2 * columns_cost(shape));
                           for (size_t k = 1; k < i.input_count(); ++k) i.output(i.shape(k), i.dtype(k));
                         },
                     .kernel = [](KernelContext& c, const A& a) { deformed_gradients(c, a); },
                     .samples = {{std::move(sample), make_attrs(moved_window())}}});
}

}  // namespace

Shape deformable_windows(const char* name, const DeformableWindow& w, int64_t height, int64_t width) {
  Shape windows;
  for (size_t k = 0; k < 2; ++k) {
    const int64_t padded = (k == 0 ? height : width) + 2 * w.pad[k], span = w.dilate[k] * (w.kernel[k] - 1) + 1;
    check(span <= padded, ErrorKind::kRuntime,
          "{}: kernel size exceeds input: the window covers {} elements of spatial axis {}, which has {} with padding",
          name, span, k, padded);
    windows.push_back((padded - span) / w.stride[k] + 1);
  }
  return windows;
}

const decltype(see_deformed) see_deformed{"see_deformed", see_on_host};
const decltype(deformed_gradients) deformed_gradients{"deformed_gradients", gradients_on_host};

Operators deformable_column_operators() { return {columns(), columns_gradient(false), columns_gradient(true)}; }

}  // namespace headrace
