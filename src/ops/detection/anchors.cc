// Anchors: boxes of several sizes and shapes around every place of a feature map.
#include "ops/detection/anchors.h"

#include <cmath>

#include "op/expect.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/detection/boxes.h"

namespace headrace {
namespace {

struct PriorAttrs {
  Doubles sizes = {1}, ratios = {1};
  bool clip = false;
  Doubles steps = {-1, -1}, offsets = {0.5, 0.5};
  static constexpr auto kFields =
      fields(field(&PriorAttrs::sizes, "sizes", "Sizes of boxes, 1 being the image."),
             field(&PriorAttrs::ratios, "ratios", "Ratios of width to height."),
             field(&PriorAttrs::clip, "clip", "Whether boxes end where the image does."),
             field(&PriorAttrs::steps, "steps", "Distances of rows and columns; -1: one over their numbers."),
             field(&PriorAttrs::offsets, "offsets", "Where the first place is in its cell, down and to the right."));
};

int64_t boxes_per_place(const PriorAttrs& a) { return std::ssize(a.sizes) + std::ssize(a.ratios) - 1; }

void infer_prior(Infer& i, const PriorAttrs& a) {
  expect_floats(i, 0);
  const Shape& data = i.shape(0);
  i.require(data.size() >= 4 && data[2] > 0 && data[3] > 0, ErrorKind::kRuntime,
            "data must have shape (batch, channels, rows, columns) with rows and columns, got {}", to_string(data));
  i.require(!a.sizes.empty() && !a.ratios.empty(), ErrorKind::kValue, "give one size and one ratio or more");
  i.require(a.steps.size() == 2 && a.offsets.size() == 2, ErrorKind::kValue,
            "steps and offsets have two numbers each, of rows and of columns");
  i.require(a.steps[0] * a.steps[1] >= 0, ErrorKind::kValue, "give both steps or none of them");
  for (double offset : a.offsets)
    i.require(offset >= 0 && offset <= 1, ErrorKind::kValue, "offsets lie in [0, 1], got {}", offset);
  const int64_t places = multiply_extents(data[2], data[3], i.name());
  i.output({1, multiply_extents(places, boxes_per_place(a), i.name()), 4}, i.dtype(0));
}

// Half the width and half the height of each box of a place: all sizes with the first ratio, then the first size with
// the other ratios. In float32, as MXNet has it.
std::vector<std::array<float, 2>> half_sides(const PriorAttrs& a, float rows, float columns) {
  std::vector<std::array<float, 2>> sides;
  const auto add = [&](double size_given, double ratio_given) {
    const auto size = static_cast<float>(size_given);
    const float ratio = std::sqrt(static_cast<float>(ratio_given));
    sides.push_back({size * rows / columns * ratio / 2, size / ratio / 2});
  };
  for (double size : a.sizes) add(size, a.ratios[0]);
  for (size_t k = 1; k < a.ratios.size(); ++k) add(a.sizes[0], a.ratios[k]);
  return sides;
}

AnchorGrid grid_of(const Shape& data, const PriorAttrs& a) {
  const auto rows = static_cast<float>(data[2]), columns = static_cast<float>(data[3]);
  const bool has_steps = a.steps[0] > 0 && a.steps[1] > 0;
  return {.rows = data[2],
          .columns = data[3],
          .first_y = static_cast<float>(a.offsets[0]),
          .first_x = static_cast<float>(a.offsets[1]),
          .down = has_steps ? static_cast<float>(a.steps[0]) : 1.0f / rows,
          .right = has_steps ? static_cast<float>(a.steps[1]) : 1.0f / columns,
          .clip = a.clip,
          .half_sides = half_sides(a, rows, columns)};
}

template <class T>
void fill_boxes(const AnchorGrid& grid, const Tensor& output) {
  RealResult<T> out(output, 0);
  T* box = out.at(0);
  for (int64_t row = 0; row < grid.rows; ++row) {
    const float y = (static_cast<float>(row) + grid.first_y) * grid.down;
    for (int64_t column = 0; column < grid.columns; ++column) {
      const float x = (static_cast<float>(column) + grid.first_x) * grid.right;
      for (const auto& [width, height] : grid.half_sides)
        for (float number : {x - width, y - height, x + width, y + height})
          *box++ = static_cast<T>(grid.clip ? std::clamp(number, 0.0f, 1.0f) : number);
    }
  }
  out.store();
}

void fill_anchors_on_host(KernelContext&, const AnchorGrid& grid, const Tensor& output) {
  with_real(output.dtype, [&]<class T>() { fill_boxes<T>(grid, output); });
}

}  // namespace

const decltype(fill_anchors) fill_anchors{"fill_anchors", fill_anchors_on_host};

Operators anchor_operators() {
  return {general<PriorAttrs>(
      {.name = "_contrib_MultiBoxPrior",
       .aliases = {"_npx_multibox_prior"},
       .python = {"nd.contrib.MultiBoxPrior", "npx.multibox_prior"},
       .doc =
           "Anchors for a feature map (batch, channels, rows, columns): boxes by corners, the image reaching from 0 to "
           "1, of shape (1, rows * columns * (sizes + ratios - 1), 4). Around each place are boxes of all sizes with "
           "the first ratio, then of the first size with the other ratios. The gradient is zero. Raises MXNetError "
           "for data of another shape, ValueError for steps and offsets that make no sense.",
       .complete =
           [](Completion& c, const PriorAttrs&) {
             c.set_output(0, {1, -1, 4});
           },
       .infer = infer_prior,
       .kernel = [](KernelContext& c,
                    const PriorAttrs& a) { fill_anchors(c, grid_of(c.input(0).shape, a), c.output(0)); },
       .zero_gradient = true,
       .own_gradient = true,
       .saves_inputs = kNothing,
       .strided_inputs = true,
       .samples = {uniform({1, 2, 2, 3}),
                   Sample({uniform({1, 1, 2, 2})},
                          make_attrs(PriorAttrs{.sizes = {0.5, 0.25}, .ratios = {1, 2, 0.5}, .clip = true}))}})};
}

}  // namespace headrace
