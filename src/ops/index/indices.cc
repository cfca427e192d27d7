#include "ops/index/indices.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "op/simd/memory.h"

namespace headrace {
namespace {

constexpr double kNsPerSliceByte = 0.12, kNsPerSlice = 4;
constexpr int64_t kSliceGrain = 1 << 14;
constexpr int64_t kCacheLine = 64, kMostPrefetched = 1024, kSlicesAhead = 8;

// Calls f with what copies a slice: past the caches, or of a size known at compile time where it is small.
template <class F>
void with_copy(int64_t bytes, bool streams, F&& f) {
  if (streams)
    return f([bytes](char* to, const char* from) { simd::stream_copy(to, from, static_cast<size_t>(bytes)); });
  switch (bytes) {
    case 1:
      return f([](char* to, const char* from) { std::memcpy(to, from, 1); });
    case 2:
      return f([](char* to, const char* from) { std::memcpy(to, from, 2); });
    case 4:
      return f([](char* to, const char* from) { std::memcpy(to, from, 4); });
    case 8:
      return f([](char* to, const char* from) { std::memcpy(to, from, 8); });
    default:
      return f([bytes](char* to, const char* from) { std::memcpy(to, from, static_cast<size_t>(bytes)); });
  }
}

// The beginning of a slice, behind which the processor finds the rest itself.
void prefetch(const char* slice, int64_t bytes) noexcept {
  for (int64_t i = 0; i < std::min(bytes, kMostPrefetched); i += kCacheLine) __builtin_prefetch(slice + i);
}

// Additions into rows [first, last) of every outer block, in the order of the indices.
template <class T>
void add_into(const T* from, T* to, const IndexSpace& space, std::span<const int64_t> indices, int64_t first,
              int64_t last) {
  const auto count = static_cast<int64_t>(indices.size());
  for (int64_t o = 0; o < space.outer; ++o) {
    for (int64_t k = 0; k < count; ++k) {
      const int64_t row = indices[static_cast<size_t>(k)];
      if (row < first || row >= last) continue;
      const T* source = from + (o * count + k) * space.inner;
      T* target = to + (o * space.length + row) * space.inner;
      for (int64_t j = 0; j < space.inner; ++j) target[j] = static_cast<T>(target[j] + source[j]);
    }
  }
}

template <class T>
void scatter_add(const T* from, T* to, const IndexSpace& space, std::span<const int64_t> indices) {
  const auto count = static_cast<int64_t>(indices.size());
  const double bytes = static_cast<double>(space.outer * space.inner * (count + space.length)) * sizeof(T);
  const double cost = bytes * kNsPerSliceByte + static_cast<double>(space.outer * count) * kNsPerSlice;
  // Each thread owns a range of target rows and looks at every index.
  const int64_t grain = std::max<int64_t>(1, space.length / 16);
  parallel_for(space.length, grain, cost, [&](int64_t first, int64_t last) {
    for (int64_t o = 0; o < space.outer; ++o) {
      T* rows = to + (o * space.length + first) * space.inner;
      std::fill(rows, rows + (last - first) * space.inner, T{});
    }
    add_into(from, to, space, indices, first, last);
  });
}

template <class Half>
void scatter_add_half(const Tensor& from, const Tensor& to, const IndexSpace& space, std::span<const int64_t> indices) {
  std::vector<float> wide(static_cast<size_t>(from.size)), sums(static_cast<size_t>(to.size));
  std::copy_n(from.as<Half>(), from.size, wide.begin());
  scatter_add(wide.data(), sums.data(), space, indices);
  std::transform(sums.begin(), sums.end(), to.as<Half>(), [](float v) { return Half(v); });
}

}  // namespace

IndexMode index_mode(const std::string& word) noexcept {
  return word == "wrap" ? IndexMode::kWrap : word == "raise" ? IndexMode::kRaise : IndexMode::kClip;
}

namespace {

// The index in [0, extent) that stands for one outside; itself where that raises.
int64_t inside(int64_t i, int64_t extent, IndexMode mode) noexcept {
  switch (mode) {
    case IndexMode::kClip:
      return i < 0 ? 0 : extent - 1;
    case IndexMode::kWrap:
      i %= extent;
      return i < 0 ? i + extent : i;
    case IndexMode::kRaise:
      return i < 0 && i >= -extent ? i + extent : i;
    default:
      return i;
  }
}

bool is_outside(int64_t i, int64_t extent) noexcept {
  return static_cast<uint64_t>(i) >= static_cast<uint64_t>(extent);
}

void read_indices_into(std::span<int64_t> to, const char* operation, const Tensor& indices, int64_t extent,
                       IndexMode mode, int64_t axis) {
  if (to.empty()) return;
  const Load load = load_function(indices.dtype, ComputeType::kInt64);
  if (extent == 0) load(to.data(), indices.data, 1, 1);
  check(extent > 0, ErrorKind::kIndex, "{}: index {} is out of bounds for axis {} with size 0", operation, to[0], axis);
  constexpr int64_t kGrain = 4096;
  constexpr double kNsPerIndex = 0.8;
  std::atomic<bool> is_wrong{false};
  parallel_for(indices.size, kGrain, static_cast<double>(indices.size) * kNsPerIndex, [&](int64_t begin, int64_t end) {
    const auto part = to.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    load(part.data(), indices.as<char>() + static_cast<size_t>(begin) * item_size(indices.dtype), 1, end - begin);
    bool is_part_wrong = false;
    for (int64_t& i : part) {
      if (!is_outside(i, extent)) continue;
      i = inside(i, extent, mode);
      is_part_wrong |= is_outside(i, extent);
    }
    if (is_part_wrong) is_wrong.store(true, std::memory_order_relaxed);
  });
  if (!is_wrong.load(std::memory_order_relaxed)) return;
  const int64_t first = *std::ranges::find_if(to, [extent](int64_t i) { return is_outside(i, extent); });
  fail(ErrorKind::kIndex, "{}: index {} is out of bounds for axis {} with size {}", operation, first, axis, extent);
}

}  // namespace

std::vector<int64_t> read_indices(const char* operation, const Tensor& indices, int64_t extent, IndexMode mode,
                                  int64_t axis) {
  std::vector<int64_t> result(static_cast<size_t>(indices.size));
  read_indices_into(result, operation, indices, extent, mode, axis);
  return result;
}

IndexSpace IndexSpace::along(const Shape& shape, int64_t axis) noexcept {
  IndexSpace space{1, shape[static_cast<size_t>(axis)], 1};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int64_t>(d) < axis) space.outer *= shape[d];
    if (static_cast<int64_t>(d) > axis) space.inner *= shape[d];
  }
  return space;
}

void gather_slices(const void* from, void* to, const IndexSpace& space, std::span<const int64_t> indices,
                   int64_t item_size) {
  const auto count = static_cast<int64_t>(indices.size());
  const int64_t bytes = space.inner * item_size;
  if (count == 0 || bytes == 0) return;
  const auto slices = static_cast<double>(space.outer * count);
  const double cost = slices * (kNsPerSlice + 2 * static_cast<double>(bytes) * kNsPerSliceByte);
  const bool prefetches = bytes >= kCacheLine;
  const bool streams = bytes % kCacheLine == 0 && space.outer * count * bytes > simd::stream_bytes();
  with_copy(bytes, streams, [&](auto copy) {
    parallel_for(space.outer * count, std::max<int64_t>(1, kSliceGrain / bytes), cost, [&](int64_t begin, int64_t end) {
      const char* block = static_cast<const char*>(from) + begin / count * space.length * bytes;
      int64_t k = begin % count;
      for (int64_t i = begin; i < end; ++i) {
        if (prefetches && k + kSlicesAhead < count)
          prefetch(block + indices[static_cast<size_t>(k + kSlicesAhead)] * bytes, bytes);
        copy(static_cast<char*>(to) + i * bytes, block + indices[static_cast<size_t>(k)] * bytes);
        if (++k < count) continue;
        k = 0;
        block += space.length * bytes;
      }
      if (streams) simd::stream_fence();
    });
  });
}

void scatter_add_slices(const Tensor& from, const Tensor& to, const IndexSpace& space,
                        std::span<const int64_t> indices) {
  dispatch(to.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
      scatter_add_half<T>(from, to, space, indices);
    } else if constexpr (std::is_same_v<T, bool>) {
      scatter_add(from.as<bool>(), to.as<bool>(), space, indices);
    } else if constexpr (std::is_integral_v<T>) {  // as unsigned, which wraps
      using U = std::make_unsigned_t<T>;
      scatter_add(from.as<U>(), to.as<U>(), space, indices);
    } else {
      scatter_add(from.as<T>(), to.as<T>(), space, indices);
    }
  });
}

namespace {

// In workspace.
std::span<const int64_t> read(KernelContext& c, const Positions& positions, const IndexSpace& space) {
  const int64_t count = positions.indices.size;
  const std::span to(c.workspace<int64_t>(count), static_cast<size_t>(count));
  read_indices_into(to, c.name(), positions.indices, space.length, positions.mode, positions.axis);
  return to;
}

void take_on_host(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                  const Tensor& to) {
  gather_slices(from.data, to.data, space, read(c, positions, space), static_cast<int64_t>(item_size(from.dtype)));
}

void add_on_host(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                 const Tensor& to) {
  scatter_add_slices(from, to, space, read(c, positions, space));
}

// Calls f(place in the indices, place in the whole array) for every index.
template <class F>
void for_each_element(std::span<const int64_t> indices, const IndexSpace& space, F&& f) {
  if (indices.empty()) return;
  const auto size = static_cast<int64_t>(indices.size());
  const int64_t block = size / space.outer;
  parallel_for(space.outer, 1 + 8192 / (1 + block), static_cast<double>(size) * 2, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t k = o * block; k < (o + 1) * block; ++k)
        f(k, (o * space.length + indices[static_cast<size_t>(k)]) * space.inner + k % space.inner);
  });
}

void pick_on_host(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                  const Tensor& to) {
  dispatch_size(from.dtype, [&]<class T>() {
    for_each_element(read(c, positions, space), space,
                     [&](int64_t k, int64_t at) { to.as<T>()[k] = from.as<T>()[at]; });
  });
}

void put_on_host(KernelContext& c, const Tensor& from, const Positions& positions, const IndexSpace& space,
                 const Tensor& to) {
  dispatch_size(to.dtype, [&]<class T>() {
    std::fill_n(to.as<T>(), to.size, T{0});
    for_each_element(read(c, positions, space), space,
                     [&](int64_t k, int64_t at) { to.as<T>()[at] = from.as<T>()[k]; });
  });
}

void mark_on_host(KernelContext&, const Tensor& indices, double on, double off, const Tensor& to) {
  if (to.size == 0) return;
  const int64_t depth = to.shape.back();
  std::vector<int64_t> places(static_cast<size_t>(indices.size));
  load_function(indices.dtype, ComputeType::kInt64)(places.data(), indices.data, 1, indices.size);
  dispatch(to.dtype, [&]<class T>() {
    std::fill_n(to.as<T>(), to.size, numeric_cast<T>(off));
    for (int64_t k = 0; k < indices.size; ++k)
      if (const int64_t place = places[static_cast<size_t>(k)]; place >= 0 && place < depth)
        to.as<T>()[k * depth + place] = numeric_cast<T>(on);
  });
}

}  // namespace

const decltype(mark_positions) mark_positions{"mark_positions", mark_on_host};
const IndexPart take_slices{"take_slices", take_on_host};
const IndexPart add_to_slices{"add_to_slices", add_on_host};
const IndexPart pick_elements{"pick_elements", pick_on_host};
const IndexPart put_elements{"put_elements", put_on_host};

}  // namespace headrace
