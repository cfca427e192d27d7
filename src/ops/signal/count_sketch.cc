// count_sketch: elements added up with signs in places that a hash tells.

#include <cstring>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/expect.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"

namespace headrace {
namespace {

struct SketchAttrs {
  int64_t out_dim = 1, processing_batch_size = 32;
  static constexpr auto kFields =
      fields(field(&SketchAttrs::out_dim, "out_dim", "Number of places.").required().between(1, kMostInt),
             field(&SketchAttrs::processing_batch_size, "processing_batch_size", "Of no effect."));
};

void infer_sketch(Infer& i, const SketchAttrs& a) {
  Shape shape = i.shape(0);
  expect_floats(i, 0);
  i.require(!shape.empty(), ErrorKind::kRuntime, "data with an axis are needed, got shape ()");
  for (size_t k : {1, 2})
    i.require(i.size(k) == shape.back(), ErrorKind::kRuntime,
              "{} must hold {} numbers, one for each element on the last axis of data {}; got shape {}",
              k == 1 ? "h" : "s", shape.back(), to_string(i.shape(0)), to_string(i.shape(k)));
  shape.back() = a.out_dim;
  i.output(shape, i.dtype(0));
}

void sketch(KernelContext& c, const SketchAttrs& a) {
  const Tensor &data = c.input(0), &out = c.output(0);
  const int64_t n = c.input(1).size, rows = n == 0 ? 0 : data.size / n;
  std::memset(out.data, 0, static_cast<size_t>(out.size) * item_size(out.dtype));
  std::vector<int64_t> place(static_cast<size_t>(n));
  std::vector<double> sign(place.size()), row(place.size()), sums(static_cast<size_t>(a.out_dim));
  load_function(c.input(1).dtype, ComputeType::kInt64)(place.data(), c.input(1).data, 1, n);
  load_function(c.input(2).dtype, ComputeType::kFloat64)(sign.data(), c.input(2).data, 1, n);
  for (int64_t one : place)
    check(one >= 0 && one < a.out_dim, ErrorKind::kValue, "{}: h must hold places from 0 to {}, got {}", c.name(),
          a.out_dim - 1, one);
  const Load load = load_function(data.dtype, ComputeType::kFloat64);
  const Store store = store_function(ComputeType::kFloat64, out.dtype);
  for (int64_t r = 0; r < rows; ++r) {
    load(row.data(), data.as<char>() + static_cast<size_t>(r * n) * item_size(data.dtype), 1, n);
    std::fill(sums.begin(), sums.end(), 0);
    for (size_t k = 0; k < row.size(); ++k) sums[static_cast<size_t>(place[k])] += row[k] * sign[k];
    store(sums.data(), out.as<char>() + static_cast<size_t>(r * a.out_dim) * item_size(out.dtype), 1, a.out_dim);
  }
}

void gradient(Gradient& g, const SketchAttrs&) {
  const auto as_vector = [](const NDArray& x) { return call("_reshape_to", {x}, {{"shape", Shape{x.size()}}}); };
  const NDArray taken = call("take", {g.head(), as_vector(g.input(1))}, {{"axis", int64_t{-1}}});
  g.set(0, taken * cast_to(as_vector(g.input(2)), g.head().dtype()));
  for (size_t k : {1, 2})
    if (g.wants(k)) g.set(k, zeros_like(g.input(k)));
}

}  // namespace

Operators count_sketch_operators() {
  return {general<SketchAttrs>(
      {.name = "_contrib_count_sketch",
       .python = {"nd.contrib.count_sketch"},
       .doc =
           "Element k on the last axis of data, times s[k], added to place h[k] of the last axis of the result, whose "
           "extent is out_dim. Raises MXNetError for shapes that do not fit, ValueError for places outside.",
       .inputs = {"data", "h", "s"},
       .infer = infer_sketch,
       .kernel = sketch,
       .gradient = gradient,
       .saves_inputs = 0b110,
       .samples = {Sample({uniform({2, 4}), values({0, 2, 2, 1}), values({1, -1, 1, -1})},
                          make_attrs(SketchAttrs{.out_dim = 3}))}})};
}

}  // namespace headrace
