// The objects that a single-shot detector has found.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr unsigned kDetectionThreads = 256;  // of the block that works on one image, as in op/device/group.cuh

// As ops/detection/multibox_detection.h has it. These are of each anchor of each image, numbers in what is computed in.
struct DetectionArguments {
  const void* probabilities;
  const void* places;
  const void* anchors;
  void* to;
  void* boxes;              // by corners
  void* scores;             // minus infinity of the background
  int32_t* kinds;           // 0: the background
  uint8_t* is_background;   // 1 or 0
  const int64_t* given;     // objects first, in the order of the anchors
  const int64_t* by_score;  // the likeliest first; null: none takes another away
  uint8_t* gone;            // in this order
  int64_t images, count, classes;
  int64_t most;  // how many of the best are looked at
  int64_t clip, force_suppress;
  float threshold, nms_threshold;
  float variances[4];
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/grid.cuh"
#include "op/device/group.cuh"
#include "ops/detection/box_overlap.h"

namespace headrace::device {

template <class Compute, class T>
inline void decode_box(const DetectionArguments& a, int64_t place, Compute* box) {
  const auto learned = [&](int k) {
    return numeric_cast<Compute>(static_cast<const T*>(a.places)[4 * place + k]) * static_cast<Compute>(a.variances[k]);
  };
  const auto cut = [&](Compute x) { return !a.clip ? x : x < 0 ? Compute{0} : x > 1 ? Compute{1} : x; };
  Compute anchor[4];
  for (int k = 0; k < 4; ++k)
    anchor[k] = numeric_cast<Compute>(static_cast<const T*>(a.anchors)[place % a.count * 4 + k]);
  for (int axis = 0; axis < 2; ++axis) {
    const Side<Compute> own = absolute<Compute>({learned(axis), learned(axis + 2)}, side_of(anchor + axis));
    box[axis] = cut(own.place - own.size / 2);
    box[axis + 2] = cut(own.place + own.size / 2);
  }
}

template <class Compute, class T>
inline void decode_anchors(const DetectionArguments& a) {
  for (int64_t i = first_of_thread(); i < a.images * a.count; i += all_threads()) {
    const T* const own = static_cast<const T*>(a.probabilities) + i / a.count * a.classes * a.count + i % a.count;
    Compute best = -1;
    int32_t kind = 0;
    for (int64_t k = 1; k < a.classes; ++k) {
      const auto probability = numeric_cast<Compute>(own[k * a.count]);
      if (!(probability > best)) continue;
      best = probability;
      kind = static_cast<int32_t>(k);
    }
    if (best < static_cast<Compute>(a.threshold)) kind = 0;
    a.kinds[i] = kind;
    a.is_background[i] = kind == 0;
    static_cast<Compute*>(a.scores)[i] = kind == 0 ? -std::numeric_limits<Compute>::infinity() : best;
    decode_box<Compute, T>(a, i, static_cast<Compute*>(a.boxes) + 4 * i);
  }
}

template <class Compute, class T>
inline void write_detections(const DetectionArguments& a) {
  for (int64_t image = blockIdx.x; image < a.images; image += gridDim.x) {
    const int64_t first = image * a.count;
    const int64_t* const given = a.given + first;
    const int64_t* const order = a.by_score ? a.by_score + first : given;
    const Compute* const boxes = static_cast<const Compute*>(a.boxes) + 4 * first;
    uint8_t* const gone = a.gone + first;
    int64_t mine = 0;
    for (int64_t j = threadIdx.x; j < a.count; j += kBlockThreads) {
      mine += a.is_background[first + j] ? 0 : 1;
      gone[j] = 0;
    }
    const int64_t found = Group<kBlockThreads>::combined(mine, Plus());
    const int64_t kept = found < a.most ? found : a.most;
    __syncthreads();
    for (int64_t i = 0; a.by_score && i < kept; ++i) {
      if (gone[i]) continue;  // for all threads alike
      for (int64_t j = i + 1 + threadIdx.x; j < kept; j += kBlockThreads) {
        const bool is_compared = a.force_suppress || a.kinds[first + order[j]] == a.kinds[first + order[i]];
        if (is_compared && overlap(boxes + 4 * order[i], boxes + 4 * order[j], BoxFormat::kCorner) >=
                               static_cast<Compute>(a.nms_threshold))
          gone[j] = 1;
      }
      __syncthreads();
    }
    for (int64_t i = threadIdx.x; i < a.count; i += kBlockThreads) {
      T* const row = static_cast<T*>(a.to) + (first + i) * 6;
      const int64_t anchor = i < kept ? order[i] : given[i];
      const bool is_object = i < found, stays = is_object && i < kept && !gone[i];
      row[0] = numeric_cast<T>(stays ? static_cast<Compute>(a.kinds[first + anchor] - 1) : Compute{-1});
      row[1] = numeric_cast<T>(is_object ? static_cast<const Compute*>(a.scores)[first + anchor] : Compute{-1});
      for (int k = 0; k < 4; ++k) row[k + 2] = numeric_cast<T>(is_object ? boxes[4 * anchor + k] : Compute{-1});
    }
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
