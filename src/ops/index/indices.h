// Integer indices out of arrays of any dtype, and copies of slices at them: what the indexing operators share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "op/op_def.h"

namespace headrace {

// What happens to an index that is out of range.
enum class IndexMode : uint8_t { kClip, kWrap, kRaise, kRaiseNegative };
IndexMode index_mode(const std::string& word) noexcept;  // "clip", "wrap", "raise"

// Reads the values as int64 (floats truncated) and brings each into [0, extent). clip: to the nearest end; wrap: modulo
// extent; raise: negative ones count from the end (kRaiseNegative: are out of range too), what remains outside raises
// IndexError naming operation, index, axis and extent. Any index into nothing raises IndexError.
std::vector<int64_t> read_indices(const char* operation, const Tensor& indices, int64_t extent, IndexMode mode,
                                  int64_t axis);

// An array as outer x length x inner; `length` is the indexed dimension.
struct IndexSpace {
  int64_t outer, length, inner;
  static IndexSpace along(const Shape& shape, int64_t axis) noexcept;
};

// Indices of an operation along one axis of an array: what they are read from, and what is out of range.
struct Positions {
  const Tensor& indices;
  IndexMode mode;
  int64_t axis;  // that errors name
};

// The parts of kernels that index. `from` and `to` are packed and of one dtype.
using IndexPart = KernelPartOf<void(KernelContext& context, const Tensor& from, const Positions& positions,
                                    const IndexSpace& space, const Tensor& to)>;
// to[o, k, :] = from[o, positions[k], :], `space` being that of `from`.
extern const IndexPart take_slices;
// to, of this space, is zero but for to[o, positions[k], :] += from[o, k, :], in the order of k; halves in float32.
extern const IndexPart add_to_slices;
// to[o, i, j] = from[o, positions[o, i, j], j].
extern const IndexPart pick_elements;
// to, of this space, is zero but for to[o, positions[o, i, j], j] = from[o, i, j]; positions of one o and j are
// different.
extern const IndexPart put_elements;

// to[k, :] holds `off`, but `on` at indices[k], where that is one of its places; each value cast as astype would.
extern const KernelPartOf<void(KernelContext& context, const Tensor& indices, double on, double off, const Tensor& to)>
    mark_positions;

// input: coordinates (dimensions, ...) in an array of this shape; output: flat indices (...). Wraps.
extern const KernelPartOf<void(KernelContext& context, const Shape& shape)> ravel_places;
// The way back; the first coordinate takes what is out of range.
extern const KernelPartOf<void(KernelContext& context, const Shape& shape)> unravel_places;

// to[o, k, :] = from[o, indices[k], :]; element bytes only.
void gather_slices(const void* from, void* to, const IndexSpace& space, std::span<const int64_t> indices,
                   int64_t item_size);
// to[o, indices[k], :] += from[o, k, :] in the dtype (halves are accumulated in float32). The order of additions is
// that of k, whatever the number of threads. `to` is cleared first.
void scatter_add_slices(const Tensor& from, const Tensor& to, const IndexSpace& space,
                        std::span<const int64_t> indices);

}  // namespace headrace
