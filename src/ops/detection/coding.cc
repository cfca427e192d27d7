// Boxes as what networks learn: their places and sizes relative to anchors.
#include "ops/detection/coding.h"

#include <algorithm>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"

namespace headrace {
namespace {

void expect_boxes(const Infer& i, size_t k) {
  expect_floats(i, k);
  i.require(i.shape(k).size() == 3 && i.shape(k)[2] == 4, ErrorKind::kRuntime,
            "input {} must have shape (batch, boxes, 4), got {}", k, to_string(i.shape(k)));
}

void infer_encode(Infer& i, const NoAttrs&) {
  for (size_t k : {2, 3}) expect_boxes(i, k);
  const Shape& anchors = i.shape(2);
  for (size_t k : {0, 1}) expect_type(i, k, Shape{anchors[0], anchors[1]}, i.dtype(2));
  i.require(i.shape(3)[0] == anchors[0] && i.dtype(3) == i.dtype(2), ErrorKind::kRuntime,
            "refs must have the batch size and the dtype of anchors {} of {}, got {} of {}", to_string(anchors),
            dtype_name(i.dtype(2)), to_string(i.shape(3)), dtype_name(i.dtype(3)));
  for (size_t k : {4, 5}) expect_type(i, k, Shape{4}, i.dtype(2));
  for (int k = 0; k < 2; ++k) i.output(anchors, i.dtype(2));
  i.cost(100 + 10.0 * static_cast<double>(i.size(2)));
}

template <class T>
void encode(KernelContext& c) {
  const Shape& shape = c.input(2).shape;
  const int64_t boxes = shape[1], count = c.input(3).shape[1];
  const Reals<T> samples(c.input(0)), matches(c.input(1)), anchors(c.input(2)), refs(c.input(3));
  const Reals<T> means(c.input(4)), stds(c.input(5));
  RealResult<T> targets(c.output(0), 0), masks(c.output(1), 0);
  for (int64_t i = 0; i < shape[0] * boxes; ++i) {
    if (!(samples[i] > T{0.5})) continue;
    if (!(matches[i] >= 0 && matches[i] < static_cast<T>(count))) fail_match(c.name(), matches[i], count);
    const T* ref = refs.at((i / boxes * count + static_cast<int64_t>(matches[i])) * 4);
    const T* anchor = anchors.at(4 * i);
    std::fill_n(masks.at(4 * i), 4, T{1});
    for (int axis : {0, 1}) {
      const Side<T> learned =
          relative(side_by_format(ref + axis, BoxFormat::kCorner), side_by_format(anchor + axis, BoxFormat::kCorner));
      targets[4 * i + axis] = (learned.place - means[axis]) / stds[axis];
      targets[4 * i + axis + 2] = (learned.size - means[axis + 2]) / stds[axis + 2];
    }
  }
  targets.store();
  masks.store();
}

void encode_on_host(KernelContext& c) {
  with_real(c.output(0).dtype, [&]<class T>() { encode<T>(c); });
}

OpDef box_encode() {
  return general(
      {.name = "_contrib_box_encode",
       .python = {"nd.contrib.box_encode"},
       .doc =
           "What a network is to learn of the boxes refs (batch, objects, 4) that the anchors (batch, anchors, 4) are "
           "matched with, both given by corners: places relative to the anchor, in its sizes, and logarithms of "
           "sizes, less means (4,) and divided by stds (4,); and masks, 1 where samples (batch, anchors) are "
           "above 0.5, 0 elsewhere, as are the targets. matches (batch, anchors) are numbers of refs. The gradient "
           "is zero. Raises MXNetError for other shapes, IndexError, when the result is read, for a match that "
           "there is not.",
       .inputs = {"samples", "matches", "anchors", "refs", "means", "stds"},
       .outputs = 2,
       .infer = infer_encode,
       .kernel = [](KernelContext& c, const NoAttrs&) { encode_boxes(c); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({1, 3}, 0, 1), uniform({1, 3}, 0, 2), uniform({1, 3, 4}, 0, 1),
                           uniform({1, 2, 4}, 0, 1), uniform({4}), uniform({4}, 1, 2)})}});
}

template <class T>
void decode(KernelContext& c, const DecodeAttrs& a) {
  const int64_t boxes = c.input(0).shape[1];
  const Reals<T> data(c.input(0)), anchors(c.input(1));
  RealResult<T> out(c.output(0), 0);
  parallel_for(c.input(0).shape[0] * boxes, 64, 5.0 * static_cast<double>(c.input(0).size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const T *x = data.at(4 * i), *anchor = anchors.at(i % boxes * 4);
                   const auto decode_axis = [&](int axis, double place_factor, double size_factor) {
                     decode_side(x + axis, anchor + axis, box_format(a.format), static_cast<T>(place_factor),
                                 static_cast<T>(size_factor), a.clip, out.at(4 * i + axis));
                   };
                   decode_axis(0, a.std0, a.std2);
                   decode_axis(1, a.std1, a.std3);
                 }
               });
  out.store();
}

void decode_on_host(KernelContext& c, const DecodeAttrs& a) {
  with_real(c.output(0).dtype, [&]<class T>() { decode<T>(c, a); });
}

OpDef box_decode() {
  return general<DecodeAttrs>(
      {.name = "_contrib_box_decode",
       .python = {"nd.contrib.box_decode"},
       .doc =
           "Boxes by corners (batch, boxes, 4) from what box_encode gives and the anchors (1, boxes, 4). The gradient "
           "is zero. Raises MXNetError for other shapes.",
       .inputs = {"data", "anchors"},
       .infer =
           [](Infer& i, const DecodeAttrs&) {
             for (size_t k : {0, 1}) expect_boxes(i, k);
             i.require(i.shape(1)[1] == i.shape(0)[1] && i.shape(1)[0] >= 1 && i.dtype(1) == i.dtype(0),
                       ErrorKind::kRuntime, "anchors must be as many as boxes in data {} and hold {}, got {} of {}",
                       to_string(i.shape(0)), dtype_name(i.dtype(0)), to_string(i.shape(1)), dtype_name(i.dtype(1)));
             i.output(i.shape(0), i.dtype(0));
             i.cost(100 + 5.0 * static_cast<double>(i.size(0)));
           },
       .kernel = [](KernelContext& c, const DecodeAttrs& a) { decode_boxes(c, a); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3, 4}), uniform({1, 3, 4}, 0, 1)}),
                   Sample({uniform({2, 3, 4}), uniform({1, 3, 4}, 0, 1)},
                          make_attrs(DecodeAttrs{.std0 = 0.1, .std3 = 0.2, .clip = 1, .format = "corner"}))}});
}

}  // namespace

void fail_match(const char* name, double match, int64_t count) {
  fail(ErrorKind::kIndex, "{}: a sample is matched with box {}, but there are {} boxes", name, match, count);
}

const decltype(encode_boxes) encode_boxes{"encode_boxes", encode_on_host};
const decltype(decode_boxes) decode_boxes{"decode_boxes", decode_on_host};

Operators box_coding_operators() { return {box_encode(), box_decode()}; }

}  // namespace headrace
