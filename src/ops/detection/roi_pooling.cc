// ROIPooling: the largest element of each cell of a grid over each region of an image.
#include "ops/detection/roi_pooling.h"

#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/detection/regions.h"

namespace headrace {
namespace {

struct PoolingAttrs {
  Shape pooled_size;
  double spatial_scale = 1;
  static constexpr auto kFields =
      fields(field(&PoolingAttrs::pooled_size, "pooled_size", "Rows and columns of the grid.").required(),
             field(&PoolingAttrs::spatial_scale, "spatial_scale", "What coordinates are multiplied with.").required());
};

void infer_pooling(Infer& i, const PoolingAttrs& a) {
  expect_regions(i, a.pooled_size);
  const Shape result{i.shape(1)[0], i.shape(0)[1], a.pooled_size[0], a.pooled_size[1]};
  i.output(result, i.dtype(0));
  i.output(result, DType::kInt64);
  i.cost(1000 + 4.0 * static_cast<double>(element_count(result)));
}

OpDef roi_pooling() {
  return general<PoolingAttrs>(
      {.name = "ROIPooling",
       .aliases = {"_npx_roi_pooling"},
       .python = {"nd.ROIPooling", "npx.roi_pooling"},
       .doc =
           "For each region of rois (regions, 5), an image's number and the corners of a box in rounded places, both "
           "included, the largest elements of data (batch, channels, rows, columns) in the cells of a grid: (regions, "
           "channels, *pooled_size). A cell without places, or of an image that there is not, gives 0. Gradients go "
           "to the largest elements, the first of equal ones. Raises MXNetError for other shapes and dtypes.",
       .inputs = {"data", "rois"},
       .outputs = 2,
       .visible_outputs = 1,
       .counted_outputs = always(2),
       .complete =
           [](Completion& c, const PoolingAttrs& a) {
             if (a.pooled_size.size() != 2) return;
             const int64_t channels = c.has_rank(0) && c.shape(0).size() == 4 ? c.shape(0)[1] : -1;
             const int64_t regions = c.has_rank(1) && c.shape(1).size() == 2 ? c.shape(1)[0] : -1;
             c.set(1, {-1, 5});
             for (size_t k : {0, 1}) c.set_output(k, {regions, channels, a.pooled_size[0], a.pooled_size[1]});
           },
       .result_dtype = [](std::span<const DType> inputs, const PoolingAttrs&,
                          size_t k) { return k == 0 ? inputs[0] : DType::kInt64; },
       .infer = infer_pooling,
       .kernel = [](KernelContext& c, const PoolingAttrs& a) { pool_regions(c, a.spatial_scale); },
       .gradient =
           [](Gradient& g, const PoolingAttrs&) {
             static const OpDef& op = find_op("_backward_ROIPooling");
             if (g.wants(0) && g.has_head(0))
               g.set(0, call(op, attrs_of(op, {{"shape", g.input(0).shape()}}), {g.head(0), g.output(1)}));
             if (g.wants(1)) g.set(1, zeros_like(g.input(1)));
           },
       .own_gradient = true,
       .saves_inputs = 0b10,
       .saves_outputs = 0b10,
       .samples = {Sample({uniform({2, 2, 5, 6}), uniform({3, 5}, 0, 4)},
                          make_attrs(PoolingAttrs{.pooled_size = {2, 2}}))}});
}

struct BackwardAttrs {
  Shape shape;
  static constexpr auto kFields = fields(field(&BackwardAttrs::shape, "shape", "Shape of the result.").required());
};

OpDef roi_pooling_gradient() {
  return general<BackwardAttrs>(
      {.name = "_backward_ROIPooling",
       .doc = "Zeros of the given shape, to whose elements with the numbers in `record` the gradient is added.",
       .inputs = {"gradient", "record"},
       .infer =
           [](Infer& i, const BackwardAttrs& a) {
             expect_floats(i, 0);
             expect_extents(i, a.shape);
             expect_type(i, 1, i.shape(0), DType::kInt64);
             i.output(a.shape, i.dtype(0));
             i.cost(100 + static_cast<double>(element_count(a.shape)) + 2.0 * static_cast<double>(i.size(0)));
           },
       .kernel = [](KernelContext& c, const BackwardAttrs&) { add_to_recorded(c); },
       .zero_gradient = true,
       .own_gradient = true,
       .samples = {Sample({uniform({1, 2, 2, 2}), integers({1, 2, 2, 2}, -1, 30, DType::kInt64)},
                          make_attrs(BackwardAttrs{.shape = {1, 2, 3, 5}}))}});
}

}  // namespace

Operators roi_pooling_operators() { return {roi_pooling(), roi_pooling_gradient()}; }

}  // namespace headrace
