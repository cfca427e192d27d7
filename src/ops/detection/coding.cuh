// Boxes as what networks learn: their places and sizes relative to anchors.
#pragma once

#include <cstdint>

namespace headrace::device {

struct EncodeArguments {
  const void* samples;
  const void* matches;
  const void* anchors;
  const void* refs;
  const void* means;
  const void* stds;
  void* targets;
  void* masks;
  int64_t count, anchors_of_image, refs_of_image;  // count: of anchors
};

// The first match of a block that there is not: its place, or -1, and its number.
struct WrongMatch {
  int64_t place;
  double match;
};

struct MatchCheckArguments {
  const void* samples;
  const void* matches;
  WrongMatch* found;  // of each block
  int64_t count, refs_of_image;
};

struct DecodeArguments {
  const void* data;
  const void* anchors;
  void* to;
  int64_t count, anchors_of_image, is_center;  // count: of boxes
  double factors[4], clip;
};

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include "op/device/first_wrong.cuh"
#include "ops/detection/box_overlap.h"

namespace headrace::device {

template <class Compute, class T>
inline Compute coded_number(const void* from, int64_t at) {
  return numeric_cast<Compute>(static_cast<const T*>(from)[at]);
}

template <class Compute, class T>
inline bool is_sample(const void* samples, int64_t i) {
  return coded_number<Compute, T>(samples, i) > Compute{0.5};
}

template <class Compute>
inline bool is_match(Compute match, int64_t refs) {
  return match >= 0 && match < static_cast<Compute>(refs);
}

template <class Compute, class T>
inline void check_matches(const MatchCheckArguments& a) {
  const int64_t first = first_wrong(a.count, [&](int64_t i) {
    return is_sample<Compute, T>(a.samples, i) && !is_match(coded_number<Compute, T>(a.matches, i), a.refs_of_image);
  });
  if (threadIdx.x != 0) return;
  WrongMatch& found = a.found[blockIdx.x];
  found.place = first < a.count ? first : -1;
  found.match = first < a.count ? static_cast<double>(coded_number<Compute, T>(a.matches, first)) : 0.0;
}

template <class Compute, class T>
inline void encode_boxes(const EncodeArguments& a) {
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    const auto match = coded_number<Compute, T>(a.matches, i);
    const bool learns = is_sample<Compute, T>(a.samples, i) && is_match(match, a.refs_of_image);
    Compute ref[4] = {}, anchor[4] = {}, targets[4] = {};
    if (learns) {
      const int64_t at = (i / a.anchors_of_image * a.refs_of_image + static_cast<int64_t>(match)) * 4;
      for (int k = 0; k < 4; ++k) {
        ref[k] = coded_number<Compute, T>(a.refs, at + k);
        anchor[k] = coded_number<Compute, T>(a.anchors, 4 * i + k);
      }
      for (int axis = 0; axis < 2; ++axis) {
        const Side<Compute> learned = relative(side_by_format(ref + axis, BoxFormat::kCorner),
                                               side_by_format(anchor + axis, BoxFormat::kCorner));
        targets[axis] = learned.place;
        targets[axis + 2] = learned.size;
      }
      for (int k = 0; k < 4; ++k)
        targets[k] = (targets[k] - coded_number<Compute, T>(a.means, k)) / coded_number<Compute, T>(a.stds, k);
    }
    for (int k = 0; k < 4; ++k) {
      static_cast<T*>(a.targets)[4 * i + k] = numeric_cast<T>(targets[k]);
      static_cast<T*>(a.masks)[4 * i + k] = numeric_cast<T>(learns ? Compute{1} : Compute{0});
    }
  }
}

template <class Compute, class T>
inline void decode_boxes(const DecodeArguments& a) {
  const BoxFormat format = a.is_center ? BoxFormat::kCenter : BoxFormat::kCorner;
  for (int64_t i = first_of_thread(); i < a.count; i += all_threads()) {
    Compute x[4], anchor[4], box[4];
    for (int k = 0; k < 4; ++k) {
      x[k] = coded_number<Compute, T>(a.data, 4 * i + k);
      anchor[k] = coded_number<Compute, T>(a.anchors, i % a.anchors_of_image * 4 + k);
    }
    for (int axis = 0; axis < 2; ++axis)
      decode_side(x + axis, anchor + axis, format, static_cast<Compute>(a.factors[axis]),
                  static_cast<Compute>(a.factors[axis + 2]), a.clip, box + axis);
    for (int k = 0; k < 4; ++k) static_cast<T*>(a.to)[4 * i + k] = numeric_cast<T>(box[k]);
  }
}

}  // namespace headrace::device
#endif
