// image.flip_left_right, image.flip_top_bottom, and the same with probability one half.
#include "ops/image/flips.h"

#include "op/copy_part.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/image/image_shape.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

// The axis of rows or columns, counted from the end: channels come last.
enum class Side : uint8_t { kLeftRight = 2, kTopBottom = 3 };

size_t axis_of(Side side, const Shape& shape) { return shape.size() - static_cast<size_t>(side); }

template <Side kSide>
std::vector<NDArray> flip(std::span<const NDArray> in, const NoAttrs&) {
  const Shape& shape = in[0].shape();
  check_image(kSide == Side::kLeftRight ? "flip_left_right" : "flip_top_bottom", shape);
  return {call("reverse", {in[0]}, {{"axis", Shape{static_cast<int64_t>(axis_of(kSide, shape))}}})};
}

struct FlipAttrs {
  double p = 0.5;
  static constexpr auto kFields = fields(field(&FlipAttrs::p, "p", "How probable it is.").between(0, 1));
};

void infer_random(Infer& i, const FlipAttrs&) {
  check_image(i.name(), i.shape(0));
  i.output(i.shape(0), i.dtype(0));
  i.cost(1000 + static_cast<double>(i.size(0)));
  generators().draw(i, Streams::kSequential);
}

void flip_on_host(KernelContext& c, size_t axis, double p) { copy_flipped(c, axis, is_flipped(c, p)); }

template <Side kSide>
OpDef in_every_call(const std::string& name, const char* doc) {
  return general({.name = "_image_" + name,
                  .aliases = {"_npx__image_" + name},
                  .python = {"nd.image." + name, "npx.image." + name},
                  .doc = doc,
                  .complete = keep_shape,
                  .compose = flip<kSide>,
                  .samples = {uniform({2, 3, 3}), integers({2, 3, 2, 1}, 0, 255, DType::kUint8)}});
}

template <Side kSide>
OpDef at_random(const std::string& name, const char* doc) {
  return general<FlipAttrs>(
      {.name = "_image_" + name,
       .aliases = {"_npx__image_" + name},
       .python = {"nd.image." + name, "npx.image." + name},
       .doc = doc,
       .complete = keep_shape,
       .infer = infer_random,
       .kernel = [](KernelContext& c, const FlipAttrs& a) { flip_at_random(c, axis_of(kSide, c.input(0).shape), a.p); },
       .gradient = [](Gradient& g, const FlipAttrs&) { g.set(0, g.head()); },
       .own_gradient = true,
       .saves_inputs = kNothing,
       .is_random = true,
       .samples = {uniform({2, 3, 3}), integers({2, 3, 2, 1}, 0, 255, DType::kUint8)}});
}

}  // namespace

bool is_flipped(const KernelContext& c, double p) {
  bool flipped = false;
  with_stream(c, [&](auto& stream) { flipped = !(uniform01<double>(stream) < 1 - p); });
  return flipped;
}

void copy_flipped(KernelContext& c, size_t axis, bool flipped) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (from.size == 0) return;
  const char* first = from.as<char>();
  Strides strides = from.strides;
  if (flipped) {
    first += (from.shape[axis] - 1) * strides[axis] * static_cast<int64_t>(item_size(from.dtype));
    strides[axis] = -strides[axis];
  }
  copy_elements(c, to.data, to.strides, first, strides, from.shape, from.dtype);
}

const decltype(flip_at_random) flip_at_random{"flip_at_random", flip_on_host};

Operators image_flip_operators() {
  return {
      in_every_call<Side::kLeftRight>(
          "flip_left_right",
          "Images (height, width, channels), or a batch of them, with the columns reversed. "
          "Raises MXNetError for other shapes, and for channels that are not 1 or 3."),
      in_every_call<Side::kTopBottom>(
          "flip_top_bottom",
          "Images (height, width, channels), or a batch of them, with the rows reversed. Raises "
          "MXNetError for other shapes, and for channels that are not 1 or 3."),
      at_random<Side::kLeftRight>("random_flip_left_right",
                                  "Images (height, width, channels), or a batch of them as a whole, with the columns "
                                  "reversed with probability `p`. The gradient is passed on as it is. Raises "
                                  "MXNetError as image.flip_left_right does."),
      at_random<Side::kTopBottom>("random_flip_top_bottom",
                                  "Images (height, width, channels), or a batch of them as a whole, with the rows "
                                  "reversed with probability `p`. The gradient is passed on as it is. Raises "
                                  "MXNetError as image.flip_top_bottom does."),
  };
}

}  // namespace headrace
