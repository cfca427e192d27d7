// box_nms: of boxes that overlap much, the one with the best score stays.

#include <cmath>
#include <numeric>

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"

namespace headrace {
namespace {

struct NmsAttrs {
  double overlap_thresh = 0.5, valid_thresh = 0;
  int64_t topk = -1, coord_start = 2, score_index = 1, id_index = -1, background_id = -1;
  bool force_suppress = false;
  std::string in_format = "corner", out_format = "corner";
  static constexpr auto kFields = fields(
      field(&NmsAttrs::overlap_thresh, "overlap_thresh", "A box that shares more than this with a better one goes."),
      field(&NmsAttrs::valid_thresh, "valid_thresh", "Boxes with scores up to it go."),
      field(&NmsAttrs::topk, "topk", "How many of the best boxes are looked at; negative: all, 0: nothing is done."),
      field(&NmsAttrs::coord_start, "coord_start", "Where the four numbers of a box begin in its row."),
      field(&NmsAttrs::score_index, "score_index", "Where the score is."),
      field(&NmsAttrs::id_index, "id_index", "Where the class is; negative: there is none."),
      field(&NmsAttrs::background_id, "background_id", "Boxes of this class go; needs id_index."),
      field(&NmsAttrs::force_suppress, "force_suppress", "Whether boxes of other classes count, too."),
      field(&NmsAttrs::in_format, "in_format", kBoxFormatDoc).one_of("corner|center"),
      field(&NmsAttrs::out_format, "out_format", kBoxFormatDoc).one_of("corner|center"));
};

void infer_nms(Infer& i, const NmsAttrs& a) {
  expect_floats(i, 0);
  const Shape& shape = i.shape(0);
  i.require(shape.size() >= 2, ErrorKind::kRuntime, "two axes or more are needed (boxes, numbers), got shape {}",
            to_string(shape));
  const int64_t width = shape.back();
  i.require(width >= (a.id_index >= 0 ? 6 : 5), ErrorKind::kRuntime,
            "a row holds a score, four coordinates and, with id_index, a class; got {} numbers", width);
  const auto inside = [&](int64_t at) { return at >= 0 && at < width; };
  const auto apart = [&](int64_t at) { return at < a.coord_start || at > a.coord_start + 3; };
  i.require(inside(a.coord_start) && a.coord_start <= width - 4, ErrorKind::kRuntime,
            "coord_start={} leaves no four numbers in rows of {}", a.coord_start, width);
  i.require(inside(a.score_index) && apart(a.score_index), ErrorKind::kRuntime,
            "score_index={} must lie in rows of {} and outside of the coordinates from {} on", a.score_index, width,
            a.coord_start);
  i.require(a.id_index < 0 || (inside(a.id_index) && apart(a.id_index) && a.id_index != a.score_index),
            ErrorKind::kRuntime, "id_index={} must lie in rows of {}, beside the score and the coordinates", a.id_index,
            width);
  i.output(shape, i.dtype(0));
  i.output(Shape(shape.begin(), shape.end() - 1), DType::kInt64);
  i.cost(200 + 20.0 * static_cast<double>(i.size(0)));
}

// Non-maximum suppression of the rows of one batch entry.
template <class T>
class Suppression {
 public:
  Suppression(const T* rows, int64_t count, int64_t width, const NmsAttrs& a)
      : rows_(rows), count_(count), width_(width), a_(a), format_(box_format(a.in_format)) {}

  // The rows that stay, best score first.
  std::vector<int64_t> kept() const {
    const std::vector<int64_t> order = candidates();
    BoxColumns<T> boxes(format_, order.size());
    for (int64_t row : order) boxes.push_back(box(row), class_of(row));
    std::vector<typename BoxColumns<T>::Mark> gone(order.size());
    std::vector<int64_t> result;
    for (size_t i = 0; i < order.size(); ++i) {
      if (gone[i]) continue;
      result.push_back(order[i]);
      boxes.mark(i, static_cast<T>(a_.overlap_thresh), gone.data());
    }
    return result;
  }

 private:
  const T* row(int64_t i) const noexcept { return rows_ + i * width_; }
  const T* box(int64_t i) const noexcept { return row(i) + a_.coord_start; }
  T score(int64_t i) const noexcept { return row(i)[a_.score_index]; }

  std::vector<int64_t> candidates() const {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count_; ++i) {
      const bool is_background = a_.id_index >= 0 && row(i)[a_.id_index] == static_cast<T>(a_.background_id);
      if (score(i) > static_cast<T>(a_.valid_thresh) && !is_background) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score(i) > score(j); });
    if (a_.topk >= 0 && std::ssize(order) > a_.topk) order.resize(static_cast<size_t>(a_.topk));
    return order;
  }

  // Boxes of one class are compared; all have one where classes do not count.
  T class_of(int64_t i) const noexcept {
    return a_.force_suppress || a_.id_index < 0 ? T{0} : std::trunc(row(i)[a_.id_index]);
  }

  const T* rows_;
  int64_t count_, width_;
  const NmsAttrs& a_;
  BoxFormat format_;
};

// Boxes whose first number is negative stay as they are, as what was filled with -1 has to.
template <class T>
void convert_box(T* box, BoxFormat to) {
  if (box[0] < 0) return;
  for (int axis : {0, 1}) {
    const T low = box[axis], high = box[axis + 2];
    box[axis] = to == BoxFormat::kCenter ? (low + high) / 2 : low - high / 2;
    box[axis + 2] = to == BoxFormat::kCenter ? high - low : low + high / 2;
  }
}

template <class T>
void suppress_boxes(KernelContext& c, const NmsAttrs& a) {
  const Tensor& data = c.input(0);
  const int64_t width = data.shape.back(), count = data.shape[data.shape.size() - 2];
  const int64_t batch = data.size == 0 ? 0 : data.size / (count * width);
  const Reals<T> in(data);
  RealResult<T> out(c.output(0), -1);
  int64_t* record = c.output(1).as<int64_t>();
  std::fill_n(record, c.output(1).size, int64_t{-1});
  const double cost = 20.0 * static_cast<double>(data.size) * static_cast<double>(std::min<int64_t>(count, 50));
  parallel_for(batch, 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const T* rows = in.at(b * count * width);
      std::vector<int64_t> kept(static_cast<size_t>(a.topk == 0 ? count : 0));
      std::iota(kept.begin(), kept.end(), int64_t{0});
      if (a.topk != 0) kept = Suppression<T>(rows, count, width, a).kept();
      for (size_t i = 0; i < kept.size(); ++i) {
        T* to = out.at((b * count + static_cast<int64_t>(i)) * width);
        std::copy_n(rows + kept[i] * width, width, to);
        record[b * count + static_cast<int64_t>(i)] = b * count + kept[i];
        if (a.in_format != a.out_format && a.topk != 0) convert_box(to + a.coord_start, box_format(a.out_format));
      }
    }
  });
  out.store();
}

OpDef box_nms() {
  return general<NmsAttrs>(
      {.name = "_contrib_box_nms",
       .aliases = {"_contrib_box_non_maximum_suppression"},
       .python = {"nd.contrib.box_nms", "nd.contrib.box_non_maximum_suppression"},
       .doc =
           "Non-maximum suppression of boxes (..., boxes, numbers), each row having a score, the four numbers of a box "
           "and perhaps a class: from the best score on, boxes of the class that share more than overlap_thresh of the "
           "union with one before them go. Those that stay are put to the front, the other rows are -1. Gradients go "
           "to the rows that stay. Raises MXNetError for rows that lack what the indices name, and for integers.",
       .outputs = 2,
       .visible_outputs = 1,
       .result_dtype = [](std::span<const DType> inputs, const NmsAttrs&,
                          size_t k) { return k == 0 ? inputs[0] : DType::kInt64; },
       .infer = infer_nms,
       .kernel = [](KernelContext& c,
                    const NmsAttrs& a) { with_real(c.input(0).dtype, [&]<class T>() { suppress_boxes<T>(c, a); }); },
       .gradient =
           [](Gradient& g, const NmsAttrs&) {
             static const OpDef& op = find_op("_backward_contrib_box_nms");
             if (g.has_head(0)) g.set(0, call(op, op.default_attrs, {g.head(0), g.output(1)}));
           },
       .own_gradient = true,
       .saves_inputs = kNothing,
       .saves_outputs = 0b10,
       .samples = {Sample({uniform({2, 5, 6}, 0, 1)}),
                   Sample({uniform({4, 6}, 0, 1)},
                          make_attrs(NmsAttrs{.topk = 2, .id_index = 0, .in_format = "center"})),
                   Sample({uniform({4, 5}, 0, 1)},
                          make_attrs(NmsAttrs{.topk = 0, .coord_start = 1, .score_index = 0}))}});
}

OpDef box_nms_gradient() {
  return general({.name = "_backward_contrib_box_nms",
                  .doc = "Rows of the gradient put where `record` says that they come from, zeros elsewhere.",
                  .inputs = {"gradient", "record"},
                  .infer =
                      [](Infer& i, const NoAttrs&) {
                        expect_floats(i, 0);
                        i.require(i.shape(0).size() >= 2, ErrorKind::kRuntime,
                                  "two axes or more are needed, got shape {}", to_string(i.shape(0)));
                        expect_type(i, 1, Shape(i.shape(0).begin(), i.shape(0).end() - 1), DType::kInt64);
                        i.output(i.shape(0), i.dtype(0));
                      },
                  .kernel =
                      [](KernelContext& c, const NoAttrs&) {
                        const Tensor &head = c.input(0), &out = c.output(0);
                        const auto bytes = static_cast<size_t>(head.shape.back()) * item_size(head.dtype);
                        std::fill_n(out.as<char>(), static_cast<size_t>(out.size) * item_size(out.dtype), char{0});
                        for (int64_t k = 0; k < c.input(1).size; ++k) {
                          const int64_t row = c.input(1).as<int64_t>()[k];
                          if (row < 0 || row >= c.input(1).size) continue;
                          std::copy_n(head.as<char>() + static_cast<size_t>(k) * bytes, bytes,
                                      out.as<char>() + static_cast<size_t>(row) * bytes);
                        }
                      },
                  .zero_gradient = true,
                  .own_gradient = true,
                  .samples = {Sample({uniform({2, 3, 5}), integers({2, 3}, -1, 6, DType::kInt64)})}});
}

}  // namespace

Operators suppression_operators() { return {box_nms(), box_nms_gradient()}; }

}  // namespace headrace
