// Products put together from dot: tensordot, inner, outer, vdot, khatri_rao.

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "op/spelling.h"
#include "ops/linalg/matrix.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct TensordotAttrs {
  Shape a_axes_summed, b_axes_summed;
  static constexpr auto kFields =
      fields(field(&TensordotAttrs::a_axes_summed, "a_axes_summed", "Axes of a that are contracted."),
             field(&TensordotAttrs::b_axes_summed, "b_axes_summed", "Axes of b, in the same order."));
};

struct TensordotCountAttrs {
  int64_t axes = 2;
  static constexpr auto kFields =
      fields(field(&TensordotCountAttrs::axes, "axes", "How many of a's last axes are contracted with b's first."));
};

struct CountAttrs {
  int64_t num_args = 0;
  static constexpr auto kFields =
      fields(field(&CountAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs());
};

// `array` as a matrix whose rows are the axes not in `summed` and whose columns are those in `summed`, or the reverse.
NDArray contraction_matrix(const NDArray& array, const Shape& summed, bool summed_first, Shape& kept) {
  Shape order;
  int64_t inner = 1;
  for (size_t i = 0; i < array.ndim(); ++i) {
    int64_t axis = static_cast<int64_t>(i);
    if (std::find(summed.begin(), summed.end(), axis) != summed.end()) continue;
    order.push_back(axis);
    kept.push_back(array.shape()[i]);
  }
  for (int64_t axis : summed) inner *= array.shape()[static_cast<size_t>(axis)];
  for (size_t i = 0; i < summed.size(); ++i) {
    if (summed_first)
      order.insert(i, summed[i]);
    else
      order.push_back(summed[i]);
  }
  NDArray turned = call("transpose", {array}, {{"axes", order}});
  int64_t outer = element_count(kept);
  return reshaped_to(turned, summed_first ? Shape{inner, outer} : Shape{outer, inner});
}

std::vector<NDArray> tensordot(const NDArray& a, const NDArray& b, const Shape& a_axes, const Shape& b_axes) {
  check(a_axes.size() == b_axes.size(), ErrorKind::kValue,
        "tensordot: the axes {} of a and {} of b must be equally many", to_string(a_axes), to_string(b_axes));
  Shape a_summed = normalize_axes(a_axes, a.ndim(), "tensordot"),
        b_summed = normalize_axes(b_axes, b.ndim(), "tensordot");
  for (size_t i = 0; i < a_summed.size(); ++i)
    check(a.shape()[static_cast<size_t>(a_summed[i])] == b.shape()[static_cast<size_t>(b_summed[i])],
          ErrorKind::kRuntime, "tensordot: axis {} of shape {} and axis {} of shape {} differ in extent", a_summed[i],
          to_string(a.shape()), b_summed[i], to_string(b.shape()));
  Shape shape;
  NDArray left = a.ndim() == 0 ? reshaped_to(a, {1, 1}) : contraction_matrix(a, a_summed, false, shape);
  NDArray right = b.ndim() == 0 ? reshaped_to(b, {1, 1}) : [&] {
    Shape kept;
    NDArray matrix = contraction_matrix(b, b_summed, true, kept);
    for (int64_t extent : kept) shape.push_back(extent);
    return matrix;
  }();
  return {reshaped_to(product(left, right), shape)};
}

OpDef tensordot_axes() {
  return general<TensordotAttrs>({
      .name = "_npi_tensordot",
      .doc = "The sum of products over pairs of axes; the other axes of a come first, then those of b.",
      .inputs = {"a", "b"},
      .compose = [](std::span<const NDArray> in,
                    const TensordotAttrs& a) { return tensordot(in[0], in[1], a.a_axes_summed, a.b_axes_summed); },
      .samples = {{{uniform({2, 3, 4}), uniform({4, 3, 2})}, make_attrs(TensordotAttrs{{1, 2}, {1, 0}})}},
  });
}

OpDef tensordot_count() {
  return general<TensordotCountAttrs>({
      .name = "_npi_tensordot_int_axes",
      .doc = "The sum of products over the last axes of a and the first of b.",
      .inputs = {"a", "b"},
      .compose =
          [](std::span<const NDArray> in, const TensordotCountAttrs& a) {
            int64_t ndim = static_cast<int64_t>(in[0].ndim());
            check(a.axes >= 0 && a.axes <= std::min(ndim, static_cast<int64_t>(in[1].ndim())), ErrorKind::kValue,
                  "tensordot: {} axes cannot be contracted of shapes {} and {}", a.axes, to_string(in[0].shape()),
                  to_string(in[1].shape()));
            Shape left, right;
            for (int64_t i = 0; i < a.axes; ++i) {
              left.push_back(ndim - a.axes + i);
              right.push_back(i);
            }
            return tensordot(in[0], in[1], left, right);
          },
      .samples = {std::vector{uniform({2, 3, 4}), uniform({3, 4, 2})}},
  });
}

Spelling flat(size_t input) { return {"_np_reshape", {{"newshape", Shape{-1}}}, {Spelling::of_input(input)}}; }

// Of both arrays, flattened.
Spelling flat_tensordot(int64_t axes) { return {"_npi_tensordot_int_axes", {{"axes", axes}}, {flat(0), flat(1)}}; }

OpDef inner() {
  return general<NoAttrs>({
      .name = "_np_inner",
      .python = {"np.inner"},
      .doc = "The sum of products over the last axes of both arrays; an array of shape () scales the other.",
      .inputs = {"a", "b"},
      .compose =
          [](std::span<const NDArray> in, const NoAttrs&) {
            if (in[0].ndim() == 0 || in[1].ndim() == 0) return tensordot(in[0], in[1], {}, {});
            return tensordot(in[0], in[1], {-1}, {-1});
          },
      .spelling =
          [](const NoAttrs&, size_t) {
            return Spelling{"_npi_tensordot", {{"a_axes_summed", Shape{-1}}, {"b_axes_summed", Shape{-1}}}};
          },
      .samples = {std::vector{uniform({2, 3}), uniform({4, 3})}},
  });
}

OpDef outer() {
  return general<NoAttrs>({
      .name = "_np_outer",
      .python = {"np.outer"},
      .doc = "All products of an element of a with one of b, both flattened: shape (a.size, b.size).",
      .inputs = {"a", "b"},
      .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
        return {product(reshaped_to(in[0], {in[0].size(), 1}), reshaped_to(in[1], {1, in[1].size()}))};
      },
      .spelling = [](const NoAttrs&, size_t) { return flat_tensordot(0); },
      .samples = {std::vector{uniform({3}), uniform({4})}},
  });
}

OpDef vdot() {
  return general<NoAttrs>({
      .name = "_np_vdot",
      .python = {"np.vdot"},
      .doc = "The sum of products of two arrays of equal size, both flattened: shape ().",
      .inputs = {"a", "b"},
      .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
        return {call("_np_dot", {reshaped_to(in[0], {in[0].size()}), reshaped_to(in[1], {in[1].size()})})};
      },
      .spelling = [](const NoAttrs&, size_t) { return flat_tensordot(1); },
      .samples = {std::vector{uniform({2, 3}), uniform({2, 3})}},
  });
}

OpDef khatri_rao() {
  return general<CountAttrs>({
      .name = "khatri_rao",
      .python = {"nd.khatri_rao"},
      .doc = R"(Column-wise Kronecker product of matrices with equally many columns.

Shapes (m1, n), (m2, n), ... give (m1*m2*..., n); column j holds the Kronecker product of the columns j.)",
      .variadic = true,
      .compose = [](std::span<const NDArray> in, const CountAttrs&) -> std::vector<NDArray> {
        check(!in.empty(), ErrorKind::kValue, "khatri_rao: at least one matrix is needed");
        for (const NDArray& one : in)
          check(one.ndim() == 2 && one.shape()[1] == in[0].shape()[1], ErrorKind::kValue,
                "khatri_rao: matrices with equally many columns are needed, got shapes {} and {}",
                to_string(in[0].shape()), to_string(one.shape()));
        NDArray result = in[0];
        for (const NDArray& one : in.subspan(1)) {
          int64_t m = result.shape()[0], k = one.shape()[0], n = one.shape()[1];
          NDArray all = reshaped_to(result, {m, 1, n}) * reshaped_to(one, {1, k, n});
          result = reshaped_to(all, {m * k, n});
        }
        return {result};
      },
      .samples = {std::vector{uniform({2, 3}), uniform({4, 3})}},
  });
}

}  // namespace

Operators tensor_product_operators() {
  return {tensordot_axes(), tensordot_count(), inner(), outer(), vdot(), khatri_rao()};
}

}  // namespace headrace
