// Operators put together from views: rolls, quarter turns, blocks to depth and back, elements in another number,
// and the shape itself as an array.

#include "base/check.h"
#include "base/function_ref.h"
#include "op/invoke.h"
#include "op/invoke_by_name.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/creation/creation.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

NDArray reshape(const NDArray& array, Shape shape) {
  return call("_reshape_to", {array}, {{"shape", std::move(shape)}});
}

NDArray flip(const NDArray& array, int64_t axis) { return call("_npi_flip", {array}, {{"axis", Shape{axis}}}); }

// --- roll ------------------------------------------------------------------------------------------------------------

struct RollAttrs {
  Shape shift;
  std::optional<Shape> axis;
  static constexpr auto kFields =
      fields(field(&RollAttrs::shift, "shift", "How many places elements move, for each axis.").required(),
             field(&RollAttrs::axis, "axis", "Axes along which they move; None: the flattened array."));
};

NDArray roll_axis(const NDArray& array, int64_t shift, int64_t axis) {
  int64_t extent = array.shape()[static_cast<size_t>(axis)];
  if (extent == 0) return array;
  const int64_t ahead = (shift % extent + extent) % extent, cut = ahead == 0 ? 0 : extent - ahead;
  if (cut == 0) return array;
  NDArray front = call("slice_axis", {array}, {{"axis", axis}, {"begin", int64_t{0}}, {"end", cut}});
  NDArray back = call("slice_axis", {array}, {{"axis", axis}, {"begin", cut}, {"end", extent}});
  return call("Concat", {back, front}, {{"dim", axis}});
}

OpDef roll() {
  return general<RollAttrs>({
      .name = "_np_roll",
      .aliases = {"_npi_roll"},
      .python = {"np.roll"},
      .doc = R"(The elements moved along axes; those that leave at one end come back at the other.

shift and axis are numbers or tuples of equal length. Raises ValueError when they do not go together.)",
      .inputs = {"data"},
      .np_inputs = {"a"},
      .compose = [](std::span<const NDArray> in, const RollAttrs& a) -> std::vector<NDArray> {
        const NDArray& array = in[0];
        if (!a.axis) {
          check(a.shift.size() == 1, ErrorKind::kValue, "roll: one shift is needed without axis, got {}",
                to_string(a.shift));
          return {apart_from(reshape(roll_axis(reshape(array, {array.size()}), a.shift[0], 0), array.shape()), array)};
        }
        size_t count = std::max(a.shift.size(), a.axis->size());
        check((a.shift.size() == count || a.shift.size() == 1) && (a.axis->size() == count || a.axis->size() == 1),
              ErrorKind::kValue, "roll: shift {} and axis {} must be equally long", to_string(a.shift),
              to_string(*a.axis));
        NDArray result = array;
        for (size_t i = 0; i < count; ++i) {
          int64_t axis = (*a.axis)[a.axis->size() == 1 ? 0 : i];
          result = roll_axis(result, a.shift[a.shift.size() == 1 ? 0 : i],
                             normalize_axis(axis, static_cast<int64_t>(array.ndim()), "roll"));
        }
        return {apart_from(result, array)};
      },
      .samples = {{{uniform({2, 3})}, make_attrs(RollAttrs{.shift = {1}, .axis = Shape{1}})},
                  {{uniform({2, 3})}, make_attrs(RollAttrs{.shift = {2}})}},
  });
}

// --- quarter turns ---------------------------------------------------------------------------------------------------

struct Rot90Attrs {
  int64_t k = 1;
  Shape axes = {0, 1};
  static constexpr auto kFields =
      fields(field(&Rot90Attrs::k, "k", "Number of quarter turns."),
             field(&Rot90Attrs::axes, "axes", "The plane: from the first axis towards the second."));
};

OpDef rot90() {
  return general<Rot90Attrs>({
      .name = "_npi_rot90",
      .python = {"np.rot90"},
      .doc = "A view turned k times by 90 degrees in the plane of two axes.",
      .inputs = {"m"},
      .compose = [](std::span<const NDArray> in, const Rot90Attrs& a) -> std::vector<NDArray> {
        check(a.axes.size() == 2, ErrorKind::kValue, "rot90: axes must be two axes, got {}", to_string(a.axes));
        Shape plane = normalize_axes(a.axes, in[0].ndim(), "rot90");
        int64_t turns = ((a.k % 4) + 4) % 4;
        if (turns == 0) return {call("_reshape_to", {in[0]}, {{"shape", in[0].shape()}})};
        if (turns == 2) return {call("_npi_flip", {in[0]}, {{"axis", plane}})};
        auto swap = [&](const NDArray& x) { return call("SwapAxis", {x}, {{"dim1", plane[0]}, {"dim2", plane[1]}}); };
        return {turns == 1 ? swap(flip(in[0], plane[1])) : flip(swap(in[0]), plane[1])};
      },
      .spelling =
          [](const Rot90Attrs& a, size_t) {
            return Spelling{"_npi_rot90", {{"k", a.k}, {"axes", a.axes}}};
          },
      .samples = {uniform({2, 3})},
  });
}

template <int64_t kAxis>
OpDef flip_along(const char* name, const char* python, const char* doc) {
  return general<NoAttrs>({
      .name = name,
      .python = {python},
      .doc = doc,
      .inputs = {"m"},
      .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
        return {flip(in[0], kAxis)};
      },
      .spelling =
          [](const NoAttrs&, size_t) {
            return Spelling{"_npi_flip", {{"axis", kAxis}}};
          },
      .samples = {uniform({2, 3})},
  });
}

// --- blocks ----------------------------------------------------------------------------------------------------------

struct BlockAttrs {
  int64_t block_size = 1;
  static constexpr auto kFields =
      fields(field(&BlockAttrs::block_size, "block_size", "Side of the square blocks.").required());
};

void check_blocks(const NDArray& x, const BlockAttrs& a, FunctionRef<bool()> fits, const char* name) {
  constexpr int64_t kLargest = int64_t{1} << 30;  // whose square can be computed with
  check(x.ndim() == 4 && a.block_size > 0 && a.block_size <= kLargest && fits(), ErrorKind::kRuntime,
        "{}: an array (n, c, h, w) that block_size {} divides is needed, got shape {}", name, a.block_size,
        to_string(x.shape()));
}

OpDef depth_to_space() {
  return general<BlockAttrs>({
      .name = "depth_to_space",
      .python = {"nd.depth_to_space", "NDArray.depth_to_space"},
      .doc = "Channels spread over blocks of pixels: (n, c*b*b, h, w) gives (n, c, h*b, w*b).",
      .compose = [](std::span<const NDArray> in, const BlockAttrs& a) -> std::vector<NDArray> {
        const NDArray& x = in[0];
        int64_t b = a.block_size;
        check_blocks(
            x, a, [&] { return x.shape()[1] % (b * b) == 0; }, "depth_to_space");
        int64_t n = x.shape()[0], c = x.shape()[1] / (b * b), h = x.shape()[2], w = x.shape()[3];
        NDArray parts = call("transpose", {reshape(x, {n, b, b, c, h, w})}, {{"axes", Shape{0, 3, 4, 1, 5, 2}}});
        return {reshape(parts, {n, c, h * b, w * b})};
      },
      .samples = {{{uniform({1, 4, 2, 3})}, make_attrs(BlockAttrs{2})}},
  });
}

OpDef space_to_depth() {
  return general<BlockAttrs>({
      .name = "space_to_depth",
      .python = {"nd.space_to_depth", "NDArray.space_to_depth"},
      .doc = "Blocks of pixels turned into channels: (n, c, h*b, w*b) gives (n, c*b*b, h, w).",
      .compose = [](std::span<const NDArray> in, const BlockAttrs& a) -> std::vector<NDArray> {
        const NDArray& x = in[0];
        int64_t b = a.block_size;
        check_blocks(
            x, a, [&] { return x.shape()[2] % b == 0 && x.shape()[3] % b == 0; }, "space_to_depth");
        int64_t n = x.shape()[0], c = x.shape()[1], h = x.shape()[2] / b, w = x.shape()[3] / b;
        NDArray parts = call("transpose", {reshape(x, {n, c, h, b, w, b})}, {{"axes", Shape{0, 3, 5, 1, 2, 4}}});
        return {reshape(parts, {n, c * b * b, h, w})};
      },
      .samples = {{{uniform({1, 1, 4, 6})}, make_attrs(BlockAttrs{2})}},
  });
}

// --- the shape as an array -------------------------------------------------------------------------------------------

OpDef shape_array() {
  return general<NoAttrs>({
      .name = "shape_array",
      .aliases = {"_npx_shape_array"},
      .python = {"nd.shape_array", "npx.shape_array", "NDArray.shape_array"},
      .doc = "The extents of the array, as an int64 vector.",
      .result_dtype = result_dtypes::always(DType::kInt64),
      .infer = [](Infer& i,
                  const NoAttrs&) { i.output(Shape{static_cast<int64_t>(i.shape(0).size())}, DType::kInt64); },
      .kernel =
          [](KernelContext& c, const NoAttrs&) {
            fill_integers(c, c.output(0), [&shape = c.input(0).shape](int64_t first, int64_t count, int64_t* values) {
              std::copy_n(shape.begin() + first, count, values);
            });
          },
      .zero_gradient = true,
      .saves_inputs = kNothing,
      .strided_inputs = true,
      .samples = {uniform({2, 3})},
  });
}

OpDef size_array() {
  return general<NoAttrs>({
      .name = "size_array",
      .python = {"nd.size_array", "NDArray.size_array"},
      .doc = "The number of elements of the array, as an int64 vector of one element.",
      .result_dtype = result_dtypes::always(DType::kInt64),
      .infer = [](Infer& i, const NoAttrs&) { i.output(Shape{1}, DType::kInt64); },
      .kernel = [](KernelContext& c, const NoAttrs&) { fill(c, c.output(0), c.input(0).size); },
      .zero_gradient = true,
      .saves_inputs = kNothing,
      .strided_inputs = true,
      .samples = {uniform({2, 3})},
  });
}

// --- resize ----------------------------------------------------------------------------------------------------------

struct ResizeAttrs {
  Shape new_shape;
  static constexpr auto kFields = fields(field(&ResizeAttrs::new_shape, "new_shape", "Of the result.").required());
};

OpDef resize() {
  return general<ResizeAttrs>(
      {.name = "_npi_resize_fallback",
       .python = {"np.resize"},
       .doc = "The elements in order, again and again, in a new shape; zeros where there are none.",
       .inputs = {"a"},
       .compose = [](std::span<const NDArray> in, const ResizeAttrs& a) -> std::vector<NDArray> {
         const NDArray& array = in[0];
         const int64_t wanted = element_count(a.new_shape), given = array.size();
         if (wanted == 0 || given == 0) return {full(a.new_shape, 0, array.dtype(), array.device())};
         const Shape times{(wanted + given - 1) / given};
         const NDArray repeated = call("tile", {reshape(array, {given})}, {{"reps", times}});
         const NDArray enough =
             call("slice_axis", {repeated}, {{"axis", int64_t{0}}, {"begin", int64_t{0}}, {"end", wanted}});
         return {reshape(enough, a.new_shape)};
       },
       .samples = {Sample({uniform({2, 3})}, make_attrs(ResizeAttrs{{2, 5}})),
                   Sample({uniform({2, 3})}, make_attrs(ResizeAttrs{{4}})),
                   Sample({uniform({2, 0})}, make_attrs(ResizeAttrs{{4}}))}});
}

}  // namespace

Operators rearrange_operators() {
  return {roll(),
          rot90(),
          flip_along<0>("_np_flipud", "np.flipud", "A view with the first axis reversed."),
          flip_along<1>("_np_fliplr", "np.fliplr", "A view with the second axis reversed."),
          depth_to_space(),
          space_to_depth(),
          shape_array(),
          size_array(),
          resize()};
}

}  // namespace headrace
