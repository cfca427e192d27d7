#include <algorithm>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "op/copy_part.h"
#include "op/formula/numeric_cast.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/creation/creation.h"

namespace headrace {
namespace {

constexpr int64_t kChunk = 512;
constexpr double kNsPerByte = 0.08;  // of writing, one thread

double write_cost(const Tensor& output) {
  return static_cast<double>(output.size) * static_cast<double>(item_size(output.dtype)) * kNsPerByte;
}

void fill_on_host(KernelContext&, const Tensor& output, const Number& value) {
  uint64_t bits = 0;
  dispatch(output.dtype, [&]<class T>() {
    const T converted = std::visit([](auto number) { return numeric_cast<T>(number); }, value);
    std::memcpy(&bits, &converted, sizeof(T));
  });
  dispatch_size(output.dtype, [&]<class U>() {
    U* data = output.as<U>();
    U pattern = static_cast<U>(bits);
    parallel_for(output.size, 1 << 14, write_cost(output),
                 [&](int64_t begin, int64_t end) { std::fill(data + begin, data + end, pattern); });
  });
}

}  // namespace

const decltype(fill) fill{"fill", fill_on_host};

template <class T>
void fill_with(const Tensor& output, ValuesOf<T> values) {
  constexpr ComputeType kType = std::is_same_v<T, double> ? ComputeType::kFloat64 : ComputeType::kInt64;
  Store store = store_function(kType, output.dtype);
  auto* bytes = output.as<unsigned char>();
  auto size = static_cast<int64_t>(item_size(output.dtype));
  parallel_for(output.size, kChunk, write_cost(output) + static_cast<double>(output.size),
               [&](int64_t begin, int64_t end) {
                 T tile[kChunk];
                 for (int64_t i = begin; i < end; i += kChunk) {
                   int64_t count = std::min(kChunk, end - i);
                   values(i, count, tile);
                   store(tile, bytes + i * size, 1, count);
                 }
               });
}

template void fill_with(const Tensor& output, ValuesOf<double> values);
template void fill_with(const Tensor& output, ValuesOf<int64_t> values);

namespace {

template <class T>
void fill_with_on_host(KernelContext&, const Tensor& output, ValuesOf<T> values) {
  fill_with(output, values);
}

}  // namespace

const decltype(fill_doubles) fill_doubles{"fill_doubles", fill_with_on_host<double>};
const decltype(fill_integers) fill_integers{"fill_integers", fill_with_on_host<int64_t>};

namespace {

// Unsigned, so that the steps beyond the end of a range do not overflow.
void progress_on_host(KernelContext&, const Tensor& output, const Progression& p) {
  if (const auto* const start = std::get_if<int64_t>(&p.start)) {
    const auto first_value = static_cast<uint64_t>(*start), step = static_cast<uint64_t>(std::get<int64_t>(p.step));
    return fill_with<int64_t>(output, [&](int64_t first, int64_t count, int64_t* values) {
      for (int64_t i = 0; i < count; ++i)
        values[i] = static_cast<int64_t>(first_value + step * static_cast<uint64_t>((first + i) / p.repeat));
    });
  }
  const double start = std::get<double>(p.start), step = std::get<double>(p.step);
  fill_with<double>(output, [&](int64_t first, int64_t count, double* values) {
    for (int64_t i = 0; i < count; ++i) values[i] = start + step * static_cast<double>((first + i) / p.repeat);
  });
}

}  // namespace

const decltype(fill_progression) fill_progression{"fill_progression", progress_on_host};

void fill_eye(KernelContext& c, const Tensor& output, int64_t k) {
  fill(c, output, int64_t{0});
  if (output.size == 0) return;
  const int64_t columns = output.shape.back(), rows = output.shape[output.shape.size() - 2], size = rows * columns;
  k = std::clamp(k, -rows, columns);  // those further away lie outside, too
  const int64_t row = std::max<int64_t>(0, -k), count = std::min(rows, columns - k) - row;
  if (count <= 0) return;
  const Shape one{1};
  const Strides packed{1};
  const Tensor value{c.workspace(item_size(output.dtype)), output.dtype, one, packed, 1};
  fill(c, value, int64_t{1});
  copy_elements(c, output.as<char>() + (row * columns + row + k) * static_cast<int64_t>(item_size(output.dtype)),
                {size, columns + 1}, value.data, {0, 0}, {output.size / size, count}, output.dtype);
}

void fill_indices(KernelContext& c, const Tensor& output) {
  if (output.size == 0) return;
  int64_t grid = output.size / output.shape[0], inner = grid;
  size_t item = item_size(output.dtype);
  for (int64_t axis = 0; axis < output.shape[0]; ++axis) {
    int64_t extent = output.shape[static_cast<size_t>(axis) + 1];
    inner /= extent;
    Shape shape{grid};
    Strides strides{1};
    Tensor part{output.as<unsigned char>() + static_cast<size_t>(axis * grid) * item, output.dtype, shape, strides,
                grid};
    fill_integers(c, part, [&](int64_t first, int64_t count, int64_t* values) {
      for (int64_t i = 0; i < count; ++i) values[i] = (first + i) / inner % extent;
    });
  }
}

namespace {

void copy_triangle_on_host(KernelContext&, const Tensor& input, const Tensor& output, int64_t k, bool lower) {
  if (output.size == 0) return;
  const int64_t columns = output.shape.back(), rows = output.shape[output.shape.size() - 2];
  const int64_t step = input.shape.size() == 1 ? 0 : columns;
  dispatch_size(output.dtype, [&]<class U>() {
    parallel_for(output.size / columns, 16, 2 * write_cost(output), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const U* from = input.as<U>() + line * step;
        U* to = output.as<U>() + line * columns;
        int64_t edge = std::clamp<int64_t>(line % rows + k + (lower ? 1 : 0), 0, columns);  // first element above it
        std::copy(lower ? from : from + edge, lower ? from + edge : from + columns, lower ? to : to + edge);
        std::fill(lower ? to + edge : to, lower ? to + columns : to + edge, U{0});
      }
    });
  });
}

}  // namespace

const decltype(copy_triangle) copy_triangle{"copy_triangle", copy_triangle_on_host};

}  // namespace headrace
