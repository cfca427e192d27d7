#include "ops/index/gather.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "op/kernel.h"
#include "ops/index/indices.h"

namespace headrace {
namespace {

constexpr double kNsPerRun = 4, kNsPerRunByte = 0.12;
constexpr int64_t kGatherGrain = 1 << 14;

bool contains(const Shape& axes, size_t d) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
}

// Adds to every offset what index array `indices` (broadcast to `shape`) contributes along one axis.
void add_offsets(std::vector<int64_t>& offsets, const Shape& shape, const Shape& index_shape,
                 const std::vector<int64_t>& indices, int64_t stride) {
  const size_t lead = shape.size() - index_shape.size();
  const Strides packed = contiguous_strides(index_shape);
  const Strides strides = contiguous_strides(shape);
  const bool same = index_shape == shape;
  for (size_t p = 0; p < offsets.size(); ++p) {
    int64_t from = static_cast<int64_t>(p);
    if (!same) {
      int64_t rest = from;
      from = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        const int64_t coordinate = rest / strides[d];
        rest %= strides[d];
        if (d >= lead && index_shape[d - lead] != 1) from += coordinate * packed[d - lead];
      }
    }
    offsets[p] += indices[static_cast<size_t>(from)] * stride;
  }
}

// Where the selected elements of a packed array lie. The selection is a set of runs of `inner` neighbouring elements;
// run (o, p) starts at outer[o] + index[p].
struct Selection {
  std::vector<int64_t> outer, index;
  int64_t inner = 1;
  bool index_first = false;  // result order: (index, outer, inner), else (outer, index, inner)

  // Reads the indices, brings negative ones into range and raises IndexError for what is out of bounds.
  Selection(const char* operation, const Selected& selected);

  int64_t outer_count() const noexcept { return static_cast<int64_t>(outer.size()); }
  int64_t index_count() const noexcept { return static_cast<int64_t>(index.size()); }
  int64_t place(int64_t o, int64_t p) const noexcept {
    return outer[static_cast<size_t>(o)] + index[static_cast<size_t>(p)];
  }
  int64_t position(int64_t o, int64_t p) const noexcept {
    return (index_first ? p * outer_count() + o : o * index_count() + p) * inner;
  }
};

template <class F>
void for_each_run(const Selection& s, int64_t item_size, F&& f) {
  const int64_t bytes = s.inner * item_size, runs = s.outer_count() * s.index_count();
  const double cost = static_cast<double>(runs) * (kNsPerRun + 2 * static_cast<double>(bytes) * kNsPerRunByte);
  parallel_for(runs, std::max<int64_t>(1, kGatherGrain / std::max<int64_t>(1, bytes)), cost,
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t o = r / s.index_count(), p = r % s.index_count();
                   f(s.place(o, p), s.position(o, p));
                 }
               });
}

template <class T>
void add_runs(const Selection& s, const T* values, T* data) {
  const auto elements = static_cast<double>(s.outer_count() * s.index_count() * s.inner);
  const double cost = elements * (kNsPerRunByte * 3 * sizeof(T)) + static_cast<double>(s.index_count()) * kNsPerRun;
  // Threads share out what no two indices have in common: the blocks around the indexed axes, or columns of the runs.
  const bool by_outer = s.outer_count() > 1;
  parallel_for(by_outer ? s.outer_count() : s.inner, by_outer ? 1 : 64, cost, [&](int64_t begin, int64_t end) {
    const int64_t first = by_outer ? begin : 0, last = by_outer ? end : s.outer_count();
    const int64_t column = by_outer ? 0 : begin, columns = by_outer ? s.inner : end;
    for (int64_t o = first; o < last; ++o) {
      for (int64_t p = 0; p < s.index_count(); ++p) {
        T* to = data + s.place(o, p);
        const T* from = values + s.position(o, p);
        for (int64_t j = column; j < columns; ++j) to[j] = static_cast<T>(to[j] + from[j]);
      }
    }
  });
}

}  // namespace

bool are_neighbours(const Shape& axes) {
  for (size_t k = 1; k < axes.size(); ++k)
    if (axes[k] != axes[k - 1] + 1) return false;
  return true;
}

Shape advanced_index_shape(const Shape& shape, const Shape& axes, const Shape& index_shape) {
  Shape result;
  const bool first = !are_neighbours(axes);
  if (first) result = index_shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!contains(axes, d))
      result.push_back(shape[d]);
    else if (!first && static_cast<int64_t>(d) == axes[0])
      for (int64_t extent : index_shape) result.push_back(extent);
  }
  return result;
}

CoordinateRows::CoordinateRows(const Tensor& coordinates)
    : each_(coordinates.shape.begin() + 1, coordinates.shape.end()), strides_(contiguous_strides(each_)) {
  const int64_t count = element_count(each_);
  const auto bytes = count * static_cast<int64_t>(item_size(coordinates.dtype));
  for (int64_t k = 0; k < coordinates.shape[0]; ++k) {
    rows_.push_back({coordinates.as<char>() + k * bytes, coordinates.dtype, each_, strides_, count});
    axes_.push_back(k);
  }
}

Shape broadcast_index_shape(const char* operation, std::span<const Tensor> indices) {
  Shape shape;
  for (const Tensor& one : indices) shape = broadcast_shapes(shape, one.shape, operation);
  return shape;
}

namespace {

Selection::Selection(const char* operation, const Selected& selected) : index_first(!are_neighbours(selected.axes)) {
  const auto& [shape, axes, indices] = selected;
  const Shape index_shape = broadcast_index_shape(operation, indices);
  const Strides strides = contiguous_strides(shape);
  index.assign(static_cast<size_t>(element_count(index_shape)), 0);
  if (!index.empty()) {
    for (size_t k = 0; k < axes.size(); ++k) {
      const auto axis = static_cast<size_t>(axes[k]);
      add_offsets(index, index_shape, indices[k].shape,
                  read_indices(operation, indices[k], shape[axis], IndexMode::kRaise, axes[k]), strides[axis]);
    }
  }
  const auto last = static_cast<size_t>(axes.back());
  for (size_t d = last + 1; d < shape.size(); ++d) inner *= shape[d];
  outer.push_back(0);
  for (size_t d = 0; d < last; ++d) {
    if (contains(axes, d)) continue;
    std::vector<int64_t> finer;
    finer.reserve(outer.size() * static_cast<size_t>(shape[d]));
    for (int64_t base : outer)
      for (int64_t i = 0; i < shape[d]; ++i) finer.push_back(base + i * strides[d]);
    outer = std::move(finer);
  }
}

void gather_on_host(KernelContext& c, const Selected& selected, const Tensor& data, const Tensor& result) {
  const Selection s(c.name(), selected);
  const auto item_size = static_cast<int64_t>(headrace::item_size(data.dtype));
  const auto* from = data.as<char>();
  auto* to = result.as<char>();
  if (s.inner == 1 && item_size == 4) {
    return for_each_run(s, item_size,
                        [&](int64_t place, int64_t position) { std::memcpy(to + position * 4, from + place * 4, 4); });
  }
  const auto bytes = static_cast<size_t>(s.inner * item_size);
  for_each_run(s, item_size, [&](int64_t place, int64_t position) {
    std::memcpy(to + position * item_size, from + place * item_size, bytes);
  });
}

void scatter_on_host(KernelContext& c, const Selected& selected, const void* values, const Tensor& data) {
  const Selection s(c.name(), selected);
  const auto item_size = static_cast<int64_t>(headrace::item_size(data.dtype));
  const auto bytes = static_cast<size_t>(s.inner * item_size);
  for (int64_t o = 0; o < s.outer_count(); ++o)
    for (int64_t p = 0; p < s.index_count(); ++p)
      std::memcpy(data.as<char>() + s.place(o, p) * item_size,
                  static_cast<const char*>(values) + s.position(o, p) * item_size, bytes);
}

void add_selected_on_host(KernelContext& c, const Selected& selected, const Tensor& values, const Tensor& data) {
  const Selection selection(c.name(), selected);
  dispatch(data.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      std::vector<float> wide(values.as<T>(), values.as<T>() + values.size);
      std::vector<float> sums(data.as<T>(), data.as<T>() + data.size);
      add_runs(selection, wide.data(), sums.data());
      std::transform(sums.begin(), sums.end(), data.as<T>(), [](float v) { return T(v); });
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {  // as unsigned, which wraps
      using U = std::make_unsigned_t<T>;
      add_runs(selection, values.as<U>(), data.as<U>());
    } else {
      add_runs(selection, values.as<T>(), data.as<T>());
    }
  });
}

}  // namespace

const decltype(gather) gather{"gather", gather_on_host};
const decltype(scatter) scatter{"scatter", scatter_on_host};
const decltype(scatter_add) scatter_add{"scatter_add", add_selected_on_host};

}  // namespace headrace
