// _cvcopyMakeBorder: images with pixels around them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

constexpr int64_t kMostBorder = 1 << 30;
constexpr int64_t kOutside = -1;

struct BorderAttrs {
  int64_t top = 0, bot = 0, left = 0, right = 0, type = 0;
  double value = 0;
  Doubles values = {};
  static constexpr auto kFields = fields(
      field(&BorderAttrs::top, "top", "Rows above.").required().between(0, kMostBorder),
      field(&BorderAttrs::bot, "bot", "Rows below.").required().between(0, kMostBorder),
      field(&BorderAttrs::left, "left", "Columns on the left.").required().between(0, kMostBorder),
      field(&BorderAttrs::right, "right", "Columns on the right.").required().between(0, kMostBorder),
      field(
          &BorderAttrs::type, "type",
          "0: value; 1: the edge repeated; 2: mirrored with its edge (cba|abc); 3: the other side; 4: mirrored at its "
          "edge (cb|abc). 16 more changes nothing."),
      field(&BorderAttrs::value, "value", "Of all channels."),
      field(&BorderAttrs::values, "values", "Of each channel, in place of value; 0 where one is missing."));
};

// OpenCV's bit for parts of larger images, which arrays are not.
int64_t kind_of(const BorderAttrs& a) noexcept { return a.type & ~int64_t{16}; }

// The place in a row of `size` elements that stands at `place` of the row with its border.
int64_t source_of(int64_t place, int64_t size, int64_t kind) noexcept {
  if (place >= 0 && place < size) return place;
  if (kind == 0) return kOutside;
  if (kind == 1) return std::clamp<int64_t>(place, 0, size - 1);
  const auto within = [place](int64_t period) { return ((place % period) + period) % period; };
  if (kind == 3) return within(size);
  if (kind == 2) return std::min(within(2 * size), 2 * size - 1 - within(2 * size));
  return size == 1 ? 0 : std::min(within(2 * size - 2), 2 * size - 2 - within(2 * size - 2));
}

std::vector<int64_t> sources_of(int64_t before, int64_t size, int64_t after, int64_t kind) {
  std::vector<int64_t> sources;
  for (int64_t place = -before; place < size + after; ++place) sources.push_back(source_of(place, size, kind));
  return sources;
}

void infer_border(Infer& i, const BorderAttrs& a) {
  const Shape& shape = i.shape(0);
  i.require(shape.size() == 3, ErrorKind::kRuntime, "an image (height, width, channels) is needed, got shape {}",
            to_string(shape));
  const int64_t kind = kind_of(a);
  i.require(kind >= 0 && kind <= 4, ErrorKind::kValue, "type must be from 0 to 4, got {}", a.type);
  i.require(kind == 0 || (shape[0] > 0 && shape[1] > 0), ErrorKind::kRuntime,
            "an image of shape {} has no edge; use type 0", to_string(shape));
  const Shape result{shape[0] + a.top + a.bot, shape[1] + a.left + a.right, shape[2]};
  i.cost(1000 + static_cast<double>(element_count(result)));
  i.output(result, i.dtype(0));
}

template <class T>
T nearest(double value) noexcept {
  value = std::isnan(value) ? 0 : std::nearbyint(value);
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  return static_cast<T>(value);
}

// A pixel of the border; integers are rounded and kept within their range.
std::vector<char> pixel_outside(const BorderAttrs& a, DType dtype, int64_t channels) {
  std::vector<double> values(static_cast<size_t>(channels), a.values.empty() ? a.value : 0.0);
  std::copy_n(a.values.begin(), std::min(values.size(), a.values.size()), values.begin());
  std::vector<char> pixel(values.size() * item_size(dtype));
  if (is_floating(dtype)) store_function(ComputeType::kFloat64, dtype)(values.data(), pixel.data(), 1, channels);
  dispatch(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      for (size_t k = 0; k < values.size(); ++k) {
        const T value = nearest<T>(values[k]);
        std::memcpy(pixel.data() + k * sizeof(T), &value, sizeof(T));
      }
  });
  return pixel;
}

void run_border(KernelContext& c, const BorderAttrs& a) {
  const Tensor &from = c.input(0), &to = c.output(0);
  const std::vector<char> outside = pixel_outside(a, from.dtype, from.shape[2]);
  const std::vector<int64_t> rows = sources_of(a.top, from.shape[0], a.bot, kind_of(a));
  const std::vector<int64_t> columns = sources_of(a.left, from.shape[1], a.right, kind_of(a));
  const auto pixel = static_cast<int64_t>(outside.size());
  char* at = to.as<char>();
  for (const int64_t row : rows)
    for (const int64_t column : columns) {
      const bool is_inside = row != kOutside && column != kOutside;
      const char* source = is_inside ? from.as<char>() + (row * from.shape[1] + column) * pixel : outside.data();
      at = std::copy_n(source, pixel, at);
    }
}

}  // namespace

Operators border_operators() {
  using A = BorderAttrs;
  return {
      general<A>({.name = "_cvcopyMakeBorder",
                  .python = {"nd._internal._cvcopyMakeBorder"},
                  .doc = "An image (height, width, channels) with pixels around it. Raises MXNetError for other "
                         "shapes, ValueError for a type that there is not.",
                  .inputs = {"src"},
                  .infer = infer_border,
                  .kernel = run_border,
                  .zero_gradient = true,
                  .samples = {Sample({integers({2, 3, 3}, 0, 255, DType::kUint8)},
                                     make_attrs(A{.top = 3, .bot = 1, .left = 2, .right = 5, .type = 2})),
                              Sample({uniform({2, 3, 2})}, make_attrs(A{.top = 1, .left = 2, .values = {0.5, 2}}))}})};
}

}  // namespace headrace
