// MultiBoxDetection: the objects that a single-shot detector has found.

#include <cmath>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"

namespace headrace {
namespace {

struct DetectionAttrs {
  bool clip = true;
  double threshold = 0.01;
  int64_t background_id = 0;
  double nms_threshold = 0.5;
  bool force_suppress = false;
  Doubles variances = {0.1, 0.1, 0.2, 0.2};
  int64_t nms_topk = -1;
  static constexpr auto kFields =
      fields(field(&DetectionAttrs::clip, "clip", "Whether boxes end where the image does."),
             field(&DetectionAttrs::threshold, "threshold", "Objects less likely than this are background."),
             field(&DetectionAttrs::background_id, "background_id", "Ignored, as MXNet does: class 0."),
             field(&DetectionAttrs::nms_threshold, "nms_threshold",
                   "A box that shares so much with a better one goes; outside of (0, 1] none does."),
             field(&DetectionAttrs::force_suppress, "force_suppress", "Whether boxes of other classes count, too."),
             field(&DetectionAttrs::variances, "variances", "What places and sizes are multiplied with."),
             field(&DetectionAttrs::nms_topk, "nms_topk", "How many of the best are looked at; not positive: all."));
};

void infer_detection(Infer& i, const DetectionAttrs& a) {
  const Shape &probability = i.shape(0), &place = i.shape(1), &anchor = i.shape(2);
  for (size_t k : {0, 1, 2}) {
    expect_floats(i, k);
    i.require(i.dtype(k) == i.dtype(0), ErrorKind::kRuntime, "all inputs must hold one dtype, got {} and {}",
              dtype_name(i.dtype(0)), dtype_name(i.dtype(k)));
  }
  i.require(probability.size() == 3 && probability[2] > 0, ErrorKind::kRuntime,
            "cls_prob must have shape (batch, classes, anchors), got {}", to_string(probability));
  const int64_t count = probability[2];
  i.require(anchor.size() == 3 && anchor[0] >= 1 && anchor[1] == count && anchor[2] == 4, ErrorKind::kRuntime,
            "anchor must have shape (1, {}, 4), got {}", count, to_string(anchor));
  i.require(place == Shape{probability[0], multiply_extents(count, 4, i.name())}, ErrorKind::kRuntime,
            "loc_pred must have shape ({}, {}), got {}", probability[0], 4 * count, to_string(place));
  i.require(a.variances.size() == 4, ErrorKind::kValue, "variances are four numbers, got {}", a.variances.size());
  i.output({probability[0], count, 6}, i.dtype(0));
  i.cost(1000 + 20.0 * static_cast<double>(i.size(0)));
}

// [class, probability, xmin, ymin, xmax, ymax]
constexpr int64_t kRowWidth = 6;

template <class T>
void write_decoded_box(const T* anchor, const T* place, const DetectionAttrs& a, T* out) {
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
               const DetectionAttrs& a, T* out) {
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
void suppress_overlaps(T* rows, int64_t found, const DetectionAttrs& a) {
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
void detect_all(KernelContext& c, const DetectionAttrs& a) {
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

}  // namespace

Operators multibox_detection_operators() {
  return {general<DetectionAttrs>(
      {.name = "_contrib_MultiBoxDetection",
       .aliases = {"_npx_multibox_detection"},
       .python = {"nd.contrib.MultiBoxDetection", "npx.multibox_detection"},
       .doc =
           "Objects from the probabilities of classes (batch, classes, anchors), class 0 being the background, offsets "
           "(batch, 4 anchors) and anchors (1, anchors, 4): rows [class, probability, xmin, ymin, xmax, ymax] of shape "
           "(batch, anchors, 6), the likeliest first, classes counted without the background. Rows of class -1 are no "
           "objects. The gradient is zero. Raises MXNetError for other shapes.",
       .inputs = {"cls_prob", "loc_pred", "anchor"},
       .infer = infer_detection,
       .kernel = [](KernelContext& c,
                    const DetectionAttrs& a) { with_real(c.output(0).dtype, [&]<class T>() { detect_all<T>(c, a); }); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3, 4}, 0, 1), uniform({2, 16}), uniform({1, 4, 4}, 0, 1)}),
                   Sample({uniform({2, 3, 4}, 0, 1), uniform({2, 16}), uniform({1, 4, 4}, 0, 1)},
                          make_attrs(DetectionAttrs{.clip = false, .nms_topk = 2}))}})};
}

}  // namespace headrace
