// Inverses and linear systems of tensors: those of the matrices that some axes as rows and the others as columns make.
#include "base/check.h"
#include "op/invoke.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

struct TensorInvAttrs {
  int64_t ind = 2;
  static constexpr auto kFields =
      fields(field(&TensorInvAttrs::ind, "ind", "How many axes at the front are those of the rows."));
};

struct TensorSolveAttrs {
  Shape a_axes = {};
  static constexpr auto kFields =
      fields(field(&TensorSolveAttrs::a_axes, "a_axes", "Axes of a that are moved to its end first."));
};

NDArray reshaped(const NDArray& array, Shape shape) {
  return call("_reshape_to", {array}, {{"shape", std::move(shape)}});
}

NDArray tensor_inverse(const NDArray& array, int64_t ind) {
  check(ind > 0, ErrorKind::kRuntime, "linalg.tensorinv: ind must be positive, got {}", ind);
  const NDArray a = cast_to(array, common_real("linalg.tensorinv", {&array, 1}));
  const Shape& shape = a.shape();
  check(!shape.empty(), ErrorKind::kRuntime, "linalg.tensorinv: at least one axis is needed, got shape ()");
  const auto middle = shape.begin() + std::min(ind, static_cast<int64_t>(shape.size()));
  const Shape front(shape.begin(), middle), back(middle, shape.end());
  const int64_t rows = element_count(front), columns = element_count(back);
  check(
      rows == columns && rows > 0, ErrorKind::kRuntime,
      "linalg.tensorinv: the first {} extents of shape {} must have the product of the others, not 0; they are {} and "
      "{}",
      ind, to_string(shape), rows, columns);
  Shape turned = back;
  for (int64_t extent : front) turned.push_back(extent);
  return reshaped(call("_linalg_inverse", {reshaped(a, {rows, columns})}), turned);
}

OpDef tensorinv() {
  return general<TensorInvAttrs>(
      {.name = "_npi_tensorinv",
       .python = {"np.linalg.tensorinv"},
       .doc = R"(Inverses of tensors: what tensordot(inverse, a, ind) makes an identity.

The result has shape a.shape[ind:] + a.shape[:ind], and is float32 for float32, otherwise float64. Raises MXNetError
where the extents before and after `ind` have different products, for float16 and, when the result is waited for, for
a tensor that has no inverse.)",
       .inputs = {"a"},
       .result_dtype = real_result,
       .compose = [](std::span<const NDArray> in, const TensorInvAttrs& a) -> std::vector<NDArray> {
         return {tensor_inverse(in[0], a.ind)};
       },
       .samples = {uniform({2, 3, 3, 2}), Sample({uniform({6, 2, 3})}, make_attrs(TensorInvAttrs{.ind = 1}))}});
}

// `a` with some axes moved to its end.
NDArray reordered(const NDArray& a, const Shape& last) {
  if (last.empty()) return a;
  const auto ndim = static_cast<int64_t>(a.ndim());
  Shape moved, order;
  for (int64_t axis : last) {
    moved.push_back(normalize_axis(axis, ndim, "linalg.tensorsolve"));
    check(std::count(moved.begin(), moved.end(), moved.back()) == 1, ErrorKind::kRuntime,
          "linalg.tensorsolve: axis {} is named twice", axis);
  }
  for (int64_t axis = 0; axis < ndim; ++axis)
    if (std::find(moved.begin(), moved.end(), axis) == moved.end()) order.push_back(axis);
  for (int64_t axis : moved) order.push_back(axis);
  return call("transpose", {a}, {{"axes", order}});
}

NDArray tensor_solution(const NDArray& tensor, const NDArray& b, const Shape& axes) {
  const NDArray a = reordered(tensor, axes);
  const Shape& shape = a.shape();
  // Where a has no more axes than b, both have one element, and x keeps as many axes as MXNet leaves it.
  const size_t front = a.ndim() > b.ndim() ? b.ndim() : std::min(b.ndim() - a.ndim(), a.ndim());
  const Shape unknowns(shape.begin() + static_cast<std::ptrdiff_t>(front), shape.end());
  const int64_t n = element_count(unknowns);
  check(
      b.size() == n && a.size() == n * n, ErrorKind::kRuntime,
      "linalg.tensorsolve: a of shape {} must have as many elements before as after its first {} axes, and b, of shape "
      "{}, that many",
      to_string(shape), front, to_string(b.shape()));
  return reshaped(call("_solve_matrices", {reshaped(a, {n, n}), reshaped(b, {n, 1})}), unknowns);
}

OpDef tensorsolve() {
  return general<TensorSolveAttrs>(
      {.name = "_npi_tensorsolve",
       .doc = R"(The x of tensordot(a, x, x.ndim) = b.

a has shape b.shape + x.shape after its axes `a_axes` were moved to its end. The result is float32 when both are,
otherwise float64. Raises MXNetError for other shapes, for float16 and, when the result is waited for, where there is
no one solution.)",
       .inputs = {"a", "b"},
       .result_dtype = real_result,
       .compose = [](std::span<const NDArray> in, const TensorSolveAttrs& a) -> std::vector<NDArray> {
         const DType dtype = common_real("linalg.tensorsolve", in);
         return {tensor_solution(cast_to(in[0], dtype), cast_to(in[1], dtype), a.a_axes)};
       },
       .samples = {std::vector{uniform({2, 3, 6}), uniform({2, 3})},
                   Sample({uniform({2, 4, 2}), uniform({4})}, make_attrs(TensorSolveAttrs{.a_axes = {0, 2}}))}});
}

}  // namespace

Operators tensor_system_operators() { return {tensorinv(), tensorsolve()}; }

}  // namespace headrace
