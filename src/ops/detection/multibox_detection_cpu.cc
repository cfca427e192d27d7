#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/parallel.h"
#include "ops/detection/boxes.h"
#include "ops/detection/multibox_detection.h"

namespace headrace {
namespace {

// [class, probability, xmin, ymin, xmax, ymax]
constexpr int64_t kRowWidth = 6;

template <class T>
void write_decoded_box(const T* anchor, const T* place, const MultiBoxDetectionAttrs& a, T* out) {
  for (size_t axis : {0, 1}) {
    const auto learned = [&](size_t k) { return place[k] * static_cast<T>(static_cast<float>(a.variances[k])); };
    const Side<T> box = absolute<T>({learned(axis), learned(axis + 2)}, side_of(anchor + axis));
    const T low = box.place - box.size / 2, high = box.place + box.size / 2;
    out[axis] = a.clip ? std::clamp(low, T{0}, T{1}) : low;
    out[axis + 2] = a.clip ? std::clamp(high, T{0}, T{1}) : high;
  }
}

// The detections of one image, in the order of the anchors; how many there are.
template <class T>
int64_t detect(const T* probabilities, const T* places, const T* anchors, int64_t classes, int64_t count,
               const MultiBoxDetectionAttrs& a, T* out) {
  int64_t found = 0;
  for (int64_t j = 0; j < count; ++j) {
    T best = -1;
    int64_t kind = 0;
    for (int64_t k = 1; k < classes; ++k)
      if (probabilities[k * count + j] > best) {
        best = probabilities[k * count + j];
        kind = k;
      }
    if (kind == 0 || best < static_cast<T>(static_cast<float>(a.threshold))) continue;
    T* row = out + found++ * kRowWidth;
    row[0] = static_cast<T>(kind - 1);
    row[1] = best;
    write_decoded_box(anchors + 4 * j, places + 4 * j, a, row + 2);
  }
  return found;
}

// The best ones first; what shares much with a better one, and what is beyond nms_topk, gets the class -1.
template <class T>
void suppress_overlaps(T* rows, int64_t found, const MultiBoxDetectionAttrs& a) {
  const std::vector<T> given(rows, rows + found * kRowWidth);
  const auto order = best_first(found, [&](int64_t i) { return given[static_cast<size_t>(i * kRowWidth + 1)]; });
  const int64_t kept = a.nms_topk > 0 ? std::min(a.nms_topk, found) : found;
  for (int64_t i = 0; i < kept; ++i)
    std::copy_n(given.data() + order[static_cast<size_t>(i)] * kRowWidth, kRowWidth, rows + i * kRowWidth);
  const auto takes = [&](int64_t i, int64_t j) {
    const T *better = rows + i * kRowWidth, *other = rows + j * kRowWidth;
    return (a.force_suppress || other[0] == better[0]) &&
           overlap(better + 2, other + 2, BoxFormat::kCorner) >= static_cast<T>(static_cast<float>(a.nms_threshold));
  };
  std::vector<char> stays(static_cast<size_t>(found), 0);
  for (int64_t i : survivors(kept, kept, takes)) stays[static_cast<size_t>(i)] = 1;
  for (int64_t i = 0; i < found; ++i)
    if (!stays[static_cast<size_t>(i)]) rows[i * kRowWidth] = -1;
}

template <class T>
void detect_all(KernelContext& c, const MultiBoxDetectionAttrs& a) {
  const Shape& shape = c.input(0).shape;
  const int64_t classes = shape[1], count = shape[2];
  const Reals<T> probabilities(c.input(0)), places(c.input(1)), anchors(c.input(2));
  RealResult<T> out(c.output(0), -1);
  parallel_for(shape[0], 1, 50.0 * static_cast<double>(c.input(0).size), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      T* rows = out.at(b * count * kRowWidth);
      const int64_t found = detect(probabilities.at(b * classes * count), places.at(b * count * 4), anchors.at(0),
                                   classes, count, a, rows);
      if (a.nms_threshold > 0 && a.nms_threshold <= 1) suppress_overlaps(rows, found, a);
    }
  });
  out.store();
}

void detect_on_host(KernelContext& c, const MultiBoxDetectionAttrs& a) {
  with_real(c.output(0).dtype, [&]<class T>() { detect_all<T>(c, a); });
}

}  // namespace

const decltype(detect_objects) detect_objects{"detect_objects", detect_on_host};

}  // namespace headrace
