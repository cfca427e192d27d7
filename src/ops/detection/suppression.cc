// box_nms: of boxes that overlap much, the one with the best score stays.
#include "ops/detection/suppression.h"

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"

namespace headrace {
namespace {

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
       .array_names = {.numbers_counted = true},
       .result_dtype = [](std::span<const DType> inputs, const NmsAttrs&,
                          size_t k) { return k == 0 ? inputs[0] : DType::kInt64; },
       .infer = infer_nms,
       .kernel = [](KernelContext& c, const NmsAttrs& a) { suppress_boxes(c, a); },
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
                  .kernel = [](KernelContext& c, const NoAttrs&) { put_rows_back(c); },
                  .zero_gradient = true,
                  .own_gradient = true,
                  .samples = {Sample({uniform({4, 5}), values({2, 0, -1, 3}, DType::kInt64)})}});
}

}  // namespace

Operators suppression_operators() { return {box_nms(), box_nms_gradient()}; }

}  // namespace headrace
