// Slices of an array at places that index arrays name.
#pragma once

#include <cstdint>

#include "ops/index/indices.cuh"

namespace headrace::device {

// So many selected slices of one place, side by side in the order of places, are added up by a thread of their own.
constexpr int64_t kPiece = 128;

// A strided walk through elements, neighbouring dimensions that are walked through evenly being one.
struct Walk {
  static constexpr int kMostDims = 16;
  int64_t dims;
  int64_t extents[kMostDims], strides[kMostDims];
};

// What one index array adds to the places, or where they begin.
struct PlaceArguments {
  const void* indices;
  int64_t* places;
  int64_t count, extent, stride, is_first;
  Walk walk;  // through the indices
};

struct SelectionArguments {
  const void* from;
  void* to;
  int64_t* places;
  const int64_t* order;  // for what is written: of the places by their value, those of one value in their own order
  void* pieces;          // for what is added: the sums of whole pieces
  int64_t blocks, count, inner, index_first;
  Walk walk;  // through the blocks
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE

namespace headrace::device {

inline int64_t offset_of(const Walk& walk, int64_t i) {
  int64_t offset = 0;
  for (int64_t d = walk.dims - 1; d > 0; --d) {
    offset += i % walk.extents[d] * walk.strides[d];
    i /= walk.extents[d];
  }
  return offset + i * walk.strides[0];
}

template <class Index, IndexMode kMode>
inline void add_places(const PlaceArguments& a) {
  for (int64_t p = first_of_thread(); p < a.count; p += all_threads()) {
    const auto index = numeric_cast<int64_t>(static_cast<const Index*>(a.indices)[offset_of(a.walk, p)]);
    const int64_t before = a.is_first ? 0 : a.places[p];
    a.places[p] = before + in_range<kMode>(index, a.extent) * a.stride;
  }
}

// Calls f(block, number of the place, place among the inner elements, place of these in packed values).
template <class F>
inline void for_each_selected(const SelectionArguments& a, const F& f) {
  for (int64_t i = first_of_thread(); i < a.blocks * a.count * a.inner; i += all_threads()) {
    const int64_t run = i / a.inner;
    if (a.index_first)
      f(run % a.blocks, run / a.blocks, i % a.inner);
    else
      f(run / a.count, run % a.count, i % a.inner);
  }
}

inline int64_t packed_place(const SelectionArguments& a, int64_t block, int64_t p, int64_t j) {
  return (a.index_first ? p * a.blocks + block : block * a.count + p) * a.inner + j;
}

template <class T>
inline void gather_selected(const SelectionArguments& a) {
  for_each_selected(a, [&](int64_t block, int64_t p, int64_t j) {
    static_cast<T*>(a.to)[packed_place(a, block, p, j)] =
        static_cast<const T*>(a.from)[offset_of(a.walk, block) + a.places[p] + j];
  });
}

// Places are in ascending order from here on: the last of equal ones writes.
template <class T>
inline void scatter_selected(const SelectionArguments& a) {
  for_each_selected(a, [&](int64_t block, int64_t s, int64_t j) {
    if (s + 1 < a.count && a.places[s + 1] == a.places[s]) return;
    static_cast<T*>(a.to)[offset_of(a.walk, block) + a.places[s] + j] =
        static_cast<const T*>(a.from)[packed_place(a, block, a.order[s], j)];
  });
}

// Whether a piece begins there, all of it of one place: so are pieces of what comes more often than that, as padding.
inline bool begins_piece(const SelectionArguments& a, int64_t s) {
  return s % kPiece == 0 && s + kPiece <= a.count && a.places[s + kPiece - 1] == a.places[s];
}

template <class Sum>
inline Sum& sum_of_piece(const SelectionArguments& a, int64_t block, int64_t s, int64_t j) {
  return static_cast<Sum*>(a.pieces)[(block * (a.count / kPiece) + s / kPiece) * a.inner + j];
}

template <class T, class Sum>
inline Sum selected_summand(const SelectionArguments& a, int64_t block, int64_t s, int64_t j) {
  return static_cast<Sum>(static_cast<const T*>(a.from)[packed_place(a, block, a.order[s], j)]);
}

template <class T, class Sum>
inline void add_pieces(const SelectionArguments& a) {
  const int64_t pieces = a.count / kPiece;
  for (int64_t i = first_of_thread(); i < a.blocks * pieces * a.inner; i += all_threads()) {
    const int64_t block = i / a.inner / pieces, s = i / a.inner % pieces * kPiece, j = i % a.inner;
    if (!begins_piece(a, s)) continue;
    Sum sum{};
    for (int64_t t = s; t < s + kPiece; ++t) sum = static_cast<Sum>(sum + selected_summand<T, Sum>(a, block, t, j));
    sum_of_piece<Sum>(a, block, s, j) = sum;
  }
}

// The first of equal ones adds up all of them, pieces that have been added up at once.
template <class T, class Sum>
inline void add_selected(const SelectionArguments& a) {
  for_each_selected(a, [&](int64_t block, int64_t s, int64_t j) {
    if (s > 0 && a.places[s - 1] == a.places[s]) return;
    T& to = static_cast<T*>(a.to)[offset_of(a.walk, block) + a.places[s] + j];
    auto sum = static_cast<Sum>(to);
    for (int64_t t = s; t < a.count && a.places[t] == a.places[s];) {
      const bool is_piece = begins_piece(a, t);
      sum = static_cast<Sum>(sum + (is_piece ? sum_of_piece<Sum>(a, block, t, j)
                                             : selected_summand<T, Sum>(a, block, t, j)));
      t += is_piece ? kPiece : 1;
    }
    to = static_cast<T>(sum);
  });
}

}  // namespace headrace::device
#endif
