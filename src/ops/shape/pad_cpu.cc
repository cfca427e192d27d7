#include <algorithm>
#include <type_traits>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "ops/shape/pad.h"

namespace headrace {
namespace {

// The table of every axis, one after another.
struct Tables {
  Tables(const Shape& in, const Shape& width, Border border) {
    for (size_t i = 0; i < in.size(); ++i) {
      std::vector<int64_t> table;
      for (int64_t k = -width[2 * i]; k < in[i] + width[2 * i + 1]; ++k)
        table.push_back(border_source(border, k, in[i]));
      axes.push_back(std::move(table));
    }
  }
  std::vector<std::vector<int64_t>> axes;
};

// Calls visit(padded offset, offset of the line in the input or kOutsideOfArray) for every innermost line of the padded
// array.
template <class Visit>
void for_each_line(const Tables& tables, const Shape& in, int64_t begin, int64_t end, const Visit& visit) {
  size_t outer = in.size() - 1;
  Strides strides = contiguous_strides(in);
  int64_t width = static_cast<int64_t>(tables.axes[outer].size());
  for (int64_t line = begin; line < end; ++line) {
    int64_t rest = line, from = 0;
    for (size_t i = outer; i-- > 0;) {
      int64_t extent = static_cast<int64_t>(tables.axes[i].size());
      int64_t at = tables.axes[i][static_cast<size_t>(rest % extent)];
      from = at == kOutsideOfArray || from == kOutsideOfArray ? kOutsideOfArray : from + at * strides[i];
      rest /= extent;
    }
    visit(line * width, from);
  }
}

template <class T>
void pad_into(const Tensor& from, const Tensor& to, const Shape& width, Border border, T constant) {
  if (to.size == 0) return;
  if (from.shape.empty()) {
    *to.as<T>() = *from.as<T>();
    return;
  }
  Tables tables(from.shape, width, border);
  const std::vector<int64_t>& inner = tables.axes.back();
  int64_t count = static_cast<int64_t>(inner.size()), extent = from.shape.back();
  int64_t before = width[width.size() - 2];
  if (count == 0) return;
  parallel_for(to.size / count, 1, static_cast<double>(to.size) * sizeof(T) * 0.2, [&](int64_t begin, int64_t end) {
    for_each_line(tables, from.shape, begin, end, [&](int64_t at, int64_t line) {
      T* out = to.as<T>() + at;
      if (line == kOutsideOfArray) {
        std::fill(out, out + count, constant);
        return;
      }
      const T* in = from.as<T>() + line;
      auto edge = [&](int64_t first, int64_t last) {
        for (int64_t k = first; k < last; ++k) {
          int64_t index = inner[static_cast<size_t>(k)];
          out[k] = index == kOutsideOfArray ? constant : in[index];
        }
      };
      edge(0, before);
      std::copy(in, in + extent, out + before);
      edge(before + extent, count);
    });
  });
}

void pad_on_host(KernelContext& c, const Shape& width, Border border, double value) {
  if (c.output(0).size == 0) return;  // whatever the other extents
  dispatch(c.output(0).dtype,
           [&]<class T>() { pad_into<T>(c.input(0), c.output(0), width, border, numeric_cast<T>(value)); });
}

void add_padded_on_host(KernelContext& c, const Shape& width, Border border) {
  const Tensor &from = c.input(0), &to = c.output(0);
  dispatch(to.dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
      std::vector<Sum> sums(static_cast<size_t>(to.size));
      if (to.shape.empty()) {
        sums[0] = static_cast<Sum>(*from.as<T>());
      } else {
        Tables tables(to.shape, width, border);
        const std::vector<int64_t>& inner = tables.axes.back();
        int64_t lines = inner.empty() ? 0 : from.size / static_cast<int64_t>(inner.size());
        for_each_line(tables, to.shape, 0, lines, [&](int64_t at, int64_t line) {
          for (size_t k = 0; k < inner.size(); ++k)
            sums[static_cast<size_t>(line + inner[k])] += static_cast<Sum>(from.as<T>()[at + static_cast<int64_t>(k)]);
        });
      }
      for (int64_t i = 0; i < to.size; ++i) to.as<T>()[i] = static_cast<T>(sums[static_cast<size_t>(i)]);
    }
  });
}

}  // namespace

const decltype(pad_elements) pad_elements{"pad_elements", pad_on_host};
const decltype(add_padded) add_padded{"add_padded", add_padded_on_host};

}  // namespace headrace
