// Non-maximum suppression of boxes.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr unsigned kSuppressionThreads = 256;  // of the block that works on one image, as in op/device/group.cuh

// As ops/detection/suppression.h has it. Of classes those are compared that `class_index` names, if it is not negative.
struct SuppressionArguments {
  const void* from;
  void* to;
  int64_t* record;
  void* scores;          // (images, count), in what is computed in: minus infinity of boxes that go at once
  const int64_t* order;  // (images, count): the best scores first
  uint8_t* gone;         // (images, count): of the boxes in that order
  int64_t images, count, width, most;
  int64_t coord_start, score_index, id_index, background_id, class_index;
  int64_t from_center, converts;  // boxes are centers and sizes; they become what they are not
  double overlap_thresh, valid_thresh;
};

// Places are in ascending order, those of one value in their own order.
struct PutBackArguments {
  const void* from;
  const int64_t* places;
  const int64_t* order;
  void* to;  // zeros so far
  int64_t rows, width;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"

namespace headrace::device {

template <class Compute, class T>
inline Compute number_of(const SuppressionArguments& a, int64_t row, int64_t at) {
  return numeric_cast<Compute>(static_cast<const T*>(a.from)[row * a.width + at]);
}

template <class Compute, class T>
inline void score_boxes(const SuppressionArguments& a) {
  for (int64_t i = first_of_thread(); i < a.images * a.count; i += all_threads()) {
    const Compute score = number_of<Compute, T>(a, i, a.score_index);
    const bool is_background =
        a.id_index >= 0 && number_of<Compute, T>(a, i, a.id_index) == static_cast<Compute>(a.background_id);
    const bool takes_part = score > static_cast<Compute>(a.valid_thresh) && !is_background;
    static_cast<Compute*>(a.scores)[i] = takes_part ? score : -std::numeric_limits<Compute>::infinity();
  }
}

// By its corners, with its class.
template <class Compute>
struct ScoredBox {
  Compute low_x, low_y, high_x, high_y, area, kind;
};

template <class Compute, class T>
inline ScoredBox<Compute> scored_box(const SuppressionArguments& a, int64_t row) {
  Compute x[4];
  for (int k = 0; k < 4; ++k) x[k] = number_of<Compute, T>(a, row, a.coord_start + k);
  const Compute width = a.from_center ? x[2] : x[2] - x[0], height = a.from_center ? x[3] : x[3] - x[1];
  const Compute area = width < 0 || height < 0 ? 0 : width * height;
  const Compute kind = a.class_index < 0 ? Compute{0} : std::trunc(number_of<Compute, T>(a, row, a.class_index));
  if (!a.from_center) return {x[0], x[1], x[2], x[3], area, kind};
  return {x[0] - x[2] / 2, x[1] - x[3] / 2, x[0] + x[2] / 2, x[1] + x[3] / 2, area, kind};
}

template <class Compute>
inline bool takes_away(const ScoredBox<Compute>& a, const ScoredBox<Compute>& b, Compute threshold) {
  const auto least = [](Compute x, Compute y) { return y < x ? y : x; };
  const auto most = [](Compute x, Compute y) { return x < y ? y : x; };
  const Compute x = least(a.high_x, b.high_x) - most(a.low_x, b.low_x);
  const Compute y = least(a.high_y, b.high_y) - most(a.low_y, b.low_y);
  const Compute both = (x > 0 ? x : Compute{0}) * (y > 0 ? y : Compute{0});
  const Compute part = both > 0 ? both / (a.area + b.area - both) : Compute{0};
  return part > threshold && a.kind == b.kind;
}

// Boxes whose first number is negative stay as they are.
template <class Compute, class T>
inline Compute converted(const SuppressionArguments& a, int64_t row, int64_t at) {
  const Compute value = number_of<Compute, T>(a, row, at);
  const int64_t k = at - a.coord_start;
  if (!a.converts || k < 0 || k > 3 || number_of<Compute, T>(a, row, a.coord_start) < 0) return value;
  const Compute low = number_of<Compute, T>(a, row, a.coord_start + k % 2);
  const Compute high = number_of<Compute, T>(a, row, a.coord_start + k % 2 + 2);
  if (a.from_center) return k < 2 ? low - high / 2 : low + high / 2;
  return k < 2 ? (low + high) / 2 : high - low;
}

template <class Compute, class T>
inline void suppress_boxes(const SuppressionArguments& a) {
  const auto threshold = static_cast<Compute>(a.overlap_thresh);
  for (int64_t image = blockIdx.x; image < a.images; image += gridDim.x) {
    const int64_t* const order = a.order + image * a.count;
    const Compute* const scores = static_cast<const Compute*>(a.scores) + image * a.count;
    uint8_t* const gone = a.gone + image * a.count;
    int64_t* const record = a.record + image * a.count;
    T* const to = static_cast<T*>(a.to) + image * a.count * a.width;
    int64_t mine = 0;
    for (int64_t i = threadIdx.x; i < a.most; i += kBlockThreads) {
      gone[i] = 0;
      mine += scores[order[i]] > -std::numeric_limits<Compute>::infinity() ? 1 : 0;
    }
    const int64_t candidates = Group<kBlockThreads>::combined(mine, Plus());
    __syncthreads();
    int64_t kept = 0;
    for (int64_t i = 0; i < candidates; ++i) {
      if (gone[i]) continue;  // for all threads alike
      const int64_t row = image * a.count + order[i];
      for (int64_t k = threadIdx.x; k < a.width; k += kBlockThreads)
        to[kept * a.width + k] = numeric_cast<T>(converted<Compute, T>(a, row, k));
      if (threadIdx.x == 0) record[kept] = row;
      ++kept;
      const ScoredBox<Compute> box = scored_box<Compute, T>(a, row);
      for (int64_t j = i + 1 + threadIdx.x; j < candidates; j += kBlockThreads)
        if (!gone[j]) gone[j] = takes_away(box, scored_box<Compute, T>(a, image * a.count + order[j]), threshold);
      __syncthreads();
    }
    for (int64_t k = kept * a.width + threadIdx.x; k < a.count * a.width; k += kBlockThreads)
      to[k] = numeric_cast<T>(Compute{-1});
    for (int64_t k = kept + threadIdx.x; k < a.count; k += kBlockThreads) record[k] = -1;
    __syncthreads();
  }
}

// The last of equal places writes. T: unsigned integers of the size of the elements.
template <class T>
inline void put_rows_back(const PutBackArguments& a) {
  for (int64_t i = first_of_thread(); i < a.rows * a.width; i += all_threads()) {
    const int64_t s = i / a.width, j = i % a.width, place = a.places[s];
    if (place < 0 || place >= a.rows || (s + 1 < a.rows && a.places[s + 1] == place)) continue;
    static_cast<T*>(a.to)[place * a.width + j] = static_cast<const T*>(a.from)[a.order[s] * a.width + j];
  }
}

}  // namespace headrace::device
#endif
