// Proposal and MultiProposal: regions of images that a network takes for objects, whatever their class.

#include <array>
#include <cmath>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"
#include "ops/families.h"

namespace headrace {
namespace {

struct ProposalAttrs {
  int64_t rpn_pre_nms_top_n = 6000, rpn_post_nms_top_n = 300;
  double threshold = 0.7f;
  int64_t rpn_min_size = 16;
  Doubles scales = {4, 8, 16, 32}, ratios = {0.5, 1, 2};
  int64_t feature_stride = 16;
  bool output_score = false, iou_loss = false;
  static constexpr auto kFields =
      fields(field(&ProposalAttrs::rpn_pre_nms_top_n, "rpn_pre_nms_top_n",
                   "How many of the best boxes are looked at; not positive: all."),
             field(&ProposalAttrs::rpn_post_nms_top_n, "rpn_post_nms_top_n", "How many regions an image gets.")
                 .between(1, kMostInt),
             field(&ProposalAttrs::threshold, "threshold", "A box that shares more than this with a better one goes."),
             field(&ProposalAttrs::rpn_min_size, "rpn_min_size",
                   "Boxes of fewer rows or columns, times the image's scale, come last."),
             field(&ProposalAttrs::scales, "scales", "Sizes of anchors, in strides."),
             field(&ProposalAttrs::ratios, "ratios", "Ratios of height to width of anchors."),
             field(&ProposalAttrs::feature_stride, "feature_stride", "Pixels of the image for one place of the map.")
                 .between(1, kMostInt),
             field(&ProposalAttrs::output_score, "output_score", "Whether scores are given, too."),
             field(&ProposalAttrs::iou_loss, "iou_loss",
                   "Whether bbox_pred is what to add to corners, not places and sizes relative to anchors."));

  int64_t anchors() const { return std::ssize(scales) * std::ssize(ratios); }
};

enum : size_t { kScores, kOffsets, kImages };

void infer_proposals(Infer& i, const ProposalAttrs& a, bool one_image) {
  const Shape& scores = i.shape(kScores);
  for (size_t k : {kScores, kOffsets, kImages}) expect_floats(i, k);
  i.require(scores.size() == 4 && scores[2] > 0 && scores[3] > 0, ErrorKind::kRuntime,
            "cls_prob must have shape (batch, 2 anchors, rows, columns) with rows and columns, got {}",
            to_string(scores));
  i.require(a.anchors() > 0 && scores[1] == 2 * a.anchors(), ErrorKind::kRuntime,
            "{} scales and {} ratios need cls_prob of {} channels, got {}", a.scales.size(), a.ratios.size(),
            2 * a.anchors(), scores[1]);
  i.require(!one_image || scores[0] == 1, ErrorKind::kRuntime, "one image is needed, got {}; take MultiProposal",
            scores[0]);
  expect_type(i, kOffsets, Shape{scores[0], 2 * scores[1], scores[2], scores[3]}, i.dtype(kScores));
  expect_type(i, kImages, Shape{scores[0], 3}, i.dtype(kScores));
  const int64_t rows = multiply_extents(scores[0], a.rpn_post_nms_top_n, i.name());
  i.output({rows, 5}, i.dtype(kScores));
  if (a.output_score) i.output({rows, 1}, i.dtype(kScores));
  i.cost(1000 + 100.0 * static_cast<double>(i.size(kScores)));
}

// The anchors of the first place: for each ratio all scales. In float32, as MXNet has it.
std::vector<std::array<float, 4>> anchors_of(const ProposalAttrs& a) {
  std::vector<std::array<float, 4>> anchors;
  const auto stride = static_cast<float>(a.feature_stride), middle = 0.5f * (stride - 1);
  for (double ratio_given : a.ratios)
    for (double scale_given : a.scales) {
      const auto ratio = static_cast<float>(ratio_given), scale = static_cast<float>(scale_given);
      const float width = std::floor(std::sqrt(std::floor(stride * stride / ratio)) + 0.5f) * scale;
      const float height = std::floor(width / scale * ratio + 0.5f) * scale;
      const float across = 0.5f * (width - 1), down = 0.5f * (height - 1);
      anchors.push_back({middle - across, middle - down, middle + across, middle + down});
    }
  return anchors;
}

// One image: its rows, columns and scale, what the network says of it, and the anchors of the first place.
template <class T>
class Proposals {
 public:
  Proposals(const char* name, const ProposalAttrs& a, const Shape& scores, const T* image)
      : a_(a), anchors_(anchors_of(a)), rows_(scores[2]), columns_(scores[3]), image_(image) {
    const auto stride = static_cast<T>(a.feature_stride);
    inner_[0] = std::trunc(image[0] / stride);
    inner_[1] = std::trunc(image[1] / stride);
    check(inner_[0] <= static_cast<T>(rows_) && inner_[1] <= static_cast<T>(columns_), ErrorKind::kRuntime,
          "{}: im_info says {} x {} pixels, more than {} x {} places of {} have", name, static_cast<double>(image[0]),
          static_cast<double>(image[1]), rows_, columns_, a.feature_stride);
  }

  // rpn_post_nms_top_n boxes and their scores: those that stay, again and again where they are too few.
  template <class F>
  void write(const T* scores, const T* offsets, F&& put) const {
    const int64_t places = rows_ * columns_, count = a_.anchors() * places;
    std::vector<T> boxes(static_cast<size_t>(4 * count)), marks(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t anchor = k % a_.anchors(), place = k / a_.anchors();
      const bool counts = place_box(anchor, place, offsets + 4 * anchor * places + place, &boxes[index(4 * k)]);
      marks[index(k)] = counts ? scores[anchor * places + place] : T{-1};
    }
    std::vector<int64_t> order = best_first(count, [&](int64_t k) { return marks[index(k)]; });
    if (a_.rpn_pre_nms_top_n > 0 && count > a_.rpn_pre_nms_top_n) order.resize(index(a_.rpn_pre_nms_top_n));
    std::vector<T> areas;
    for (int64_t k : order) areas.push_back(box_area(&boxes[index(4 * k)], BoxFormat::kPixels));
    const auto takes = [&](int64_t i, int64_t j) {
      return overlap(&boxes[index(4 * order[index(i)])], areas[index(i)], &boxes[index(4 * order[index(j)])],
                     areas[index(j)], BoxFormat::kPixels) > static_cast<T>(static_cast<float>(a_.threshold));
    };
    const auto kept = survivors(std::ssize(order), a_.rpn_post_nms_top_n, takes);
    for (int64_t n = 0; n < a_.rpn_post_nms_top_n; ++n) {
      const int64_t k = order[index(kept[index(n % std::ssize(kept))])];
      put(n, &boxes[index(4 * k)], marks[index(k)]);
    }
  }

 private:
  static size_t index(int64_t i) { return static_cast<size_t>(i); }

  // The box of an anchor moved by offsets, which lie a map apart, cut to the image; whether it counts: a small one and
  // one in the padding behind the image do not.
  bool place_box(int64_t anchor, int64_t place, const T* offsets, T* box) const {
    const int64_t at[2] = {place % columns_, place / columns_};
    const int64_t places = rows_ * columns_;
    bool counts = static_cast<T>(at[1]) < inner_[0] && static_cast<T>(at[0]) < inner_[1];
    for (size_t axis : {0, 1}) {
      const auto from = static_cast<T>(at[axis] * a_.feature_stride);
      T &low = box[axis], &high = box[axis + 2];
      low = static_cast<T>(anchors_[index(anchor)][axis]) + from;
      high = static_cast<T>(anchors_[index(anchor)][axis + 2]) + from;
      move(offsets[static_cast<int64_t>(axis) * places], offsets[static_cast<int64_t>(axis + 2) * places], low, high);
      const T last = image_[1 - axis] - 1;
      low = std::max(std::min(low, last), T{0});
      high = std::max(std::min(high, last), T{0});
    }
    const T least = static_cast<T>(a_.rpn_min_size) * image_[2];
    if (!(box[2] - box[0] + 1 < least || box[3] - box[1] + 1 < least)) return counts;
    for (int axis : {0, 1}) {
      box[axis] -= least / 2;
      box[axis + 2] += least / 2;
    }
    return false;
  }

  void move(T first, T second, T& low, T& high) const {
    if (a_.iou_loss) {
      low += first;
      high += second;
      return;
    }
    const T size = high - low + 1;
    const Side<T> side = absolute<T>({first, second}, {low + T{0.5} * (size - 1), size});
    const double half = 0.5 * (static_cast<double>(side.size) - 1);
    low = static_cast<T>(side.place - half);
    high = static_cast<T>(side.place + half);
  }

  const ProposalAttrs& a_;
  std::vector<std::array<float, 4>> anchors_;
  int64_t rows_, columns_;
  const T* image_;
  T inner_[2];  // rows and columns of the map that lie in the image
};

template <class T>
void propose(KernelContext& c, const ProposalAttrs& a) {
  const Shape& shape = c.input(kScores).shape;
  const int64_t per_image = shape[1] * shape[2] * shape[3];
  const Reals<T> scores(c.input(kScores)), offsets(c.input(kOffsets)), images(c.input(kImages));
  RealResult<T> regions(c.output(0), 0);
  std::vector<T> marks(static_cast<size_t>(shape[0] * a.rpn_post_nms_top_n));
  parallel_for(shape[0], 1, 100.0 * static_cast<double>(c.input(kScores).size), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Proposals<T> proposals(c.name(), a, shape, images.at(3 * b));
      proposals.write(scores.at(b * per_image + per_image / 2), offsets.at(2 * b * per_image),
                      [&](int64_t n, const T* box, T mark) {
                        T* row = regions.at((b * a.rpn_post_nms_top_n + n) * 5);
                        row[0] = static_cast<T>(b);
                        std::copy_n(box, 4, row + 1);
                        marks[static_cast<size_t>(b * a.rpn_post_nms_top_n + n)] = mark;
                      });
    }
  });
  regions.store();
  if (!a.output_score) return;
  RealResult<T> out(c.output(1), 0);
  std::copy(marks.begin(), marks.end(), out.at(0));
  out.store();
}

OpDef proposal(const char* name, const char* python, bool one_image) {
  const auto attrs = [](bool score, bool iou_loss) {
    return make_attrs(ProposalAttrs{.rpn_pre_nms_top_n = 12,
                                    .rpn_post_nms_top_n = 6,
                                    .rpn_min_size = 0,
                                    .scales = {1, 2},
                                    .ratios = {1},
                                    .output_score = score,
                                    .iou_loss = iou_loss});
  };
  const int64_t batch = one_image ? 1 : 2;
  const std::vector<SampleArray> arrays = {uniform({batch, 4, 3, 3}, 0, 1), uniform({batch, 8, 3, 3}, -1, 1),
                                           uniform({batch, 3}, 30, 47)};
  return general<ProposalAttrs>(
      {.name = name,
       .python = {python},
       .doc =
           "Regions that a network takes for objects: cls_prob (batch, 2 anchors, rows, columns), the second half of "
           "whose channels says how likely each anchor has an object, bbox_pred (batch, 4 anchors, rows, columns), how "
           "boxes differ from anchors, and im_info (batch, 3), rows, columns and scale of each image. Of the best "
           "boxes those stay that share little with better ones: rows [number of the image, xmin, ymin, xmax, ymax], "
           "rpn_post_nms_top_n for each image, repeated where there are fewer; with output_score their scores, too, "
           "(rows, 1), -1 for boxes that are too small or in the padding. The gradient is zero. Raises MXNetError for "
           "other shapes and, when a result is read, for images larger than the map.",
       .inputs = {"cls_prob", "bbox_pred", "im_info"},
       .output_count = [](const ProposalAttrs& a) -> size_t { return a.output_score ? 2 : 1; },
       .counted_outputs = always(2),
       .array_names = {.outputs = {"output", "score"}},
       .complete =
           [](Completion& c, const ProposalAttrs& a) {
             if (!c.has_rank(kScores) || c.shape(kScores).size() != 4) return;
             const Shape scores = c.shape(kScores);
             const int64_t batch = scores[0], channels = scores[1];
             c.set(kOffsets, {batch, channels < 0 ? -1 : 2 * channels, scores[2], scores[3]});
             c.set(kImages, {batch, 3});
             const int64_t rows = batch < 0 ? -1 : multiply_extents(batch, a.rpn_post_nms_top_n, c.name());
             c.set_output(0, {rows, 5});
             if (a.output_score) c.set_output(1, {rows, 1});
           },
       .infer = [one_image](Infer& i, const ProposalAttrs& a) { infer_proposals(i, a, one_image); },
       .kernel = [](KernelContext& c,
                    const ProposalAttrs& a) { with_real(c.output(0).dtype, [&]<class T>() { propose<T>(c, a); }); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample(arrays, attrs(false, false)), Sample(arrays, attrs(true, true))}});
}

}  // namespace

Operators proposal_operators() {
  return {proposal("_contrib_Proposal", "nd.contrib.Proposal", true),
          proposal("_contrib_MultiProposal", "nd.contrib.MultiProposal", false)};
}

}  // namespace headrace
