// What weights are worth once each of their rows is held in int8.

#include "backend/cpu/parallel.h"
#include "op/expect.h"
#include "ops/quantization/layers.h"
#include "ops/quantization/ranges.h"

namespace headrace {
namespace {

void round_rows(KernelContext& c, const NoAttrs&) {
  const Tensor &in = c.input(0), &out = c.output(0);
  if (in.size == 0) return;
  const int64_t columns = in.size / in.shape[0];
  parallel_for(in.shape[0], 1, 2.0 * static_cast<double>(in.size), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = in.as<float>() + row * columns;
      float* to = out.as<float>() + row * columns;
      float range = 0;
      for (int64_t k = 0; k < columns; ++k) range = std::max(range, std::abs(from[k]));
      const float scale = quantizing_scale(DType::kInt8, -range, range);
      for (int64_t k = 0; k < columns; ++k) to[k] = static_cast<float>(saturated<int8_t>(from[k] * scale)) / scale;
    }
  });
}

}  // namespace

OpDef rounded_rows() {
  return general<>({.name = "_rounded_rows",
                    .doc = "float32 weights, each row of which (an index of the first axis) is rounded to what int8 "
                           "numbers of the row's own range can say.",
                    .complete = keep_shape,
                    .infer =
                        [](Infer& i, const Attrs&) {
                          i.require(!i.shape(0).empty(), ErrorKind::kRuntime, "weights with rows are needed");
                          expect_type(i, 0, i.shape(0), DType::kFloat32);
                          i.output(i.shape(0), DType::kFloat32);
                          i.cost(2.0 * static_cast<double>(i.size(0)));
                        },
                    .kernel = round_rows,
                    .zero_gradient = true,
                    .samples = {uniform({3, 4}), values({0, 0.25, -1, 1})}});
}

}  // namespace headrace
