#include "ndarray/strided_copy.h"

#include <cstdlib>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"

namespace headrace {
namespace {

// One axis of the copy: extent and the step of each side, in elements.
struct Axis {
  int64_t extent, to, from;
};
using Axes = SmallVector<Axis, 8>;

// Drops axes of extent 1, orders by destination step (largest first) and merges axes that step as one.
Axes common_axes(const Strides& to, const Strides& from, const Shape& shape) {
  Axes axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) axes.push_back({shape[i], to[i], from[i]});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  Axes merged;
  for (const Axis& axis : axes) {
    if (!merged.empty()) {
      Axis& last = merged.back();
      if (last.to == axis.to * axis.extent && last.from == axis.from * axis.extent) {
        last = {last.extent * axis.extent, axis.to, axis.from};
        continue;
      }
    }
    merged.push_back(axis);
  }
  return merged;
}

template <class T>
void copy_line(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t count) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

// A plane as for transpose_plane(), narrower than a cache line and packed in the destination: a block stays in the
// first-level cache while the columns are written into it one after the other.
template <class T>
void interleave(T* to, const T* from, const Axis& outer, const Axis& inner) {
  const int64_t height = 8192 / (inner.extent * static_cast<int64_t>(sizeof(T)));
  for (int64_t i = 0; i < outer.extent; i += height) {
    const int64_t end = std::min(i + height, outer.extent);
    for (int64_t b = 0; b < inner.extent; ++b) {
      const T* const column = from + b * inner.from;
      T* place = to + i * inner.extent + b;
      for (int64_t a = i; a < end; ++a, place += inner.extent) *place = column[a];
    }
  }
}

// A plane of which the destination runs along `inner`, packed, and the source along `outer`, in small steps: whole
// cache lines are read, turned in a small buffer and written.
template <class T>
void transpose_plane(T* to, const T* from, const Axis& outer, const Axis& inner) {
  constexpr int64_t kLine = 64 / sizeof(T), kDepth = 4 * kLine;  // several lines of one source row share its page
  if (inner.extent < kLine && outer.to == inner.extent && outer.from == 1) return interleave(to, from, outer, inner);
  alignas(64) T tile[kDepth][kLine];
  for (int64_t i = 0; i < outer.extent; i += kDepth) {
    const int64_t height = std::min(kDepth, outer.extent - i);
    for (int64_t j = 0; j < inner.extent; j += kLine) {
      const int64_t width = std::min(kLine, inner.extent - j);
      for (int64_t b = 0; b < width; ++b) {
        const T* row = from + (j + b) * inner.from + i * outer.from;
        for (int64_t a = 0; a < height; ++a) tile[a][b] = row[a * outer.from];
      }
      for (int64_t a = 0; a < height; ++a) {
        T* row = to + (i + a) * outer.to + j;
        if (width == kLine)
          std::memcpy(row, tile[a], sizeof(tile[a]));
        else
          std::memcpy(row, tile[a], static_cast<size_t>(width) * sizeof(T));
      }
    }
  }
}

bool is_turned(const Axis& outer, const Axis& inner) {
  constexpr int64_t kSmallStep = 4;
  return outer.from > 0 && outer.from <= kSmallStep && inner.to == 1;
}

// A plane whose destination runs along `inner` and whose source runs along `outer`: copied in square blocks, so that
// both sides use whole cache lines.
template <class T>
void copy_plane(T* to, const T* from, const Axis& outer, const Axis& inner) {
  if (is_turned(outer, inner)) return transpose_plane(to, from, outer, inner);
  constexpr int64_t kBlock = 32;
  for (int64_t i = 0; i < outer.extent; i += kBlock) {
    int64_t i_end = std::min(i + kBlock, outer.extent);
    for (int64_t j = 0; j < inner.extent; j += kBlock) {
      int64_t j_end = std::min(j + kBlock, inner.extent);
      for (int64_t a = i; a < i_end; ++a) {
        T* row = to + a * outer.to;
        const T* column = from + a * outer.from;
        for (int64_t b = j; b < j_end; ++b) row[b * inner.to] = column[b * inner.from];
      }
    }
  }
}

template <class T>
void copy_axes(T* to, const T* from, std::span<const Axis> axes);

// Several planes for transpose_plane(), one cache line of the destination's rows at a time: then what is read are as
// many streams as such a line has elements.
template <class T>
void transpose_planes(T* to, const T* from, std::span<const Axis> axes) {
  constexpr int64_t kLine = 64 / sizeof(T);
  const Axis& inner = axes[2];
  Axes part(axes.begin(), axes.end());
  for (int64_t j = 0; j < inner.extent; j += kLine) {
    part[2].extent = std::min(kLine, inner.extent - j);
    for (int64_t i = 0; i < axes[0].extent; ++i)
      transpose_plane(to + i * axes[0].to + j, from + i * axes[0].from + j * inner.from, part[1], part[2]);
  }
}

template <class T>
void copy_axes(T* to, const T* from, std::span<const Axis> axes) {
  if (axes.size() == 3 && is_turned(axes[1], axes[2]) && std::abs(axes[0].from) < axes[2].from) {
    transpose_planes(to, from, axes);
  } else if (axes.empty()) {
    *to = *from;
  } else if (axes.size() == 1) {
    copy_line(to, axes[0].to, from, axes[0].from, axes[0].extent);
  } else if (axes.size() == 2 && std::abs(axes[0].from) < std::abs(axes[1].from)) {
    copy_plane(to, from, axes[0], axes[1]);
  } else {
    for (int64_t i = 0; i < axes[0].extent; ++i)
      copy_axes(to + i * axes[0].to, from + i * axes[0].from, axes.subspan(1));
  }
}

// Brings the source's fastest axis next to the destination's, so that copy_plane sees the pair.
void pair_fast_axes(Axes& axes) {
  if (axes.size() < 3 || std::abs(axes.back().from) == 1) return;
  size_t fastest = 0;
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (std::abs(axes[i].from) < std::abs(axes[fastest].from)) fastest = i;
  Axis axis = axes[fastest];
  axes.erase(fastest);
  axes.insert(axes.size() - 1, axis);
}

}  // namespace

void strided_copy(void* destination, const Strides& destination_strides, const void* source,
                  const Strides& source_strides, const Shape& shape, DType dtype) {
  int64_t count = element_count(shape);
  if (count == 0) return;
  Axes axes = common_axes(destination_strides, source_strides, shape);
  pair_fast_axes(axes);
  dispatch_size(dtype, [&]<class T>() {
    T* to = static_cast<T*>(destination);
    const T* from = static_cast<const T*>(source);
    if (axes.empty()) {
      *to = *from;
      return;
    }
    double cost = static_cast<double>(count) * sizeof(T) * 0.15;
    parallel_for(axes[0].extent, 1, cost, [&](int64_t begin, int64_t end) {
      SmallVector<Axis, 8> part = axes;
      part[0].extent = end - begin;
      copy_axes(to + begin * axes[0].to, from + begin * axes[0].from, std::span<const Axis>(part));
    });
  });
}

ViewPtr packed(const ViewPtr& view) {
  if (!view || view->is_contiguous()) return view;
  ViewPtr made = make_view(view->shape(), view->dtype(), Device{});
  strided_copy(made->data(), made->strides(), view->data(), view->strides(), view->shape(), view->dtype());
  return made;
}

}  // namespace headrace
