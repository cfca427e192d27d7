// FullyConnected: y = x w' + b.

#include "op/fusion.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/open_extents.h"
#include "op/pointwise.h"
#include "op/quantization.h"
#include "op/rule.h"
#include "ops/linalg/matrix.h"

namespace headrace {
namespace {

struct FullyConnectedAttrs {
  int64_t num_hidden = 0;
  bool no_bias = false;
  bool flatten = true;
  static constexpr auto kFields =
      fields(field(&FullyConnectedAttrs::num_hidden, "num_hidden", "Number of outputs per row.")
                 .required()
                 .between(1, kMostInt),
             field(&FullyConnectedAttrs::no_bias, "no_bias", "Whether there is no bias."),
             field(&FullyConnectedAttrs::flatten, "flatten",
                   "Whether all axes of data but the first are one; otherwise the last axis alone is transformed."));
};

// Number of leading axes of data that are rows of the product.
size_t row_axes(const Shape& data, bool flatten) { return flatten ? 1 : data.size() - 1; }

// Of a bias, a vector or a column.
bool is_column(const Shape& bias) { return bias.size() == 2; }
Shape bias_shape(const Shape& given, int64_t num_hidden) {
  return is_column(given) ? Shape{num_hidden, 1} : Shape{num_hidden};
}

void infer_fully_connected(Infer& i, const FullyConnectedAttrs& a) {
  const Shape& data = i.shape(0);
  i.require(!data.empty(), ErrorKind::kRuntime, "data needs at least one axis, got shape ()");
  i.require(a.num_hidden > 0, ErrorKind::kValue, "num_hidden must be positive, got {}", a.num_hidden);
  i.require(i.input_count() == (a.no_bias ? 2u : 3u), ErrorKind::kType, "{} arrays are needed with no_bias={}, got {}",
            a.no_bias ? 2 : 3, a.no_bias ? "True" : "False", i.input_count());
  Shape result;
  int64_t rows = 1, columns = 1;
  for (size_t k = 0; k < data.size(); ++k) {
    bool row = k < row_axes(data, a.flatten);
    (row ? rows : columns) *= data[k];
    if (row) result.push_back(data[k]);
  }
  Shape weight{a.num_hidden, columns};
  i.require(i.shape(1) == weight, ErrorKind::kRuntime, "weight must have shape {} for data {}, got {}",
            to_string(weight), to_string(data), to_string(i.shape(1)));
  if (!a.no_bias)
    i.require(i.shape(2) == bias_shape(i.shape(2), a.num_hidden), ErrorKind::kRuntime,
              "bias must have shape ({0},) or ({0}, 1), got {1}", a.num_hidden, to_string(i.shape(2)));
  for (size_t k = 1; k < i.input_count(); ++k)
    i.require(i.dtype(k) == i.dtype(0), ErrorKind::kRuntime, "data holds {}, but {} holds {}; convert one with astype",
              dtype_name(i.dtype(0)), k == 1 ? "weight" : "bias", dtype_name(i.dtype(k)));
  result.push_back(a.num_hidden);
  i.output(result, i.dtype(0));
  set_gemm_cost(i, 1, rows, a.num_hidden, columns);
}

void multiply(KernelContext& c, const FullyConnectedAttrs& a, void* result) {
  const Tensor& data = c.input(0);
  Gemm g{.dtype = data.dtype, .n = a.num_hidden, .c = result};
  g.k = c.input(1).shape[1];
  g.m = c.output(0).size / a.num_hidden;
  g.a = as_matrix(c, data, row_axes(data.shape, a.flatten));
  g.b = transposed(as_matrix(c, c.input(1), 1));
  if (g.b.data == c.input(1).data) g.b.storage = c.input(1).storage;
  if (!a.no_bias) g.bias = packed_data(c, c.input(2));
  gemm(c, g);
}

void run_fully_connected(KernelContext& c, const FullyConnectedAttrs& a) { multiply(c, a, c.output(0).data); }

// The layer, then pointwise work on its result, which is of type `dtype`: in place where the outputs are so too.
void run_with_epilogue(KernelContext& c, const FullyConnectedAttrs& a, const Fusion::Epilogue& epilogue, DType dtype) {
  const Tensor& out = c.output(0);
  if (out.size == 0) return;
  void* const result = out.dtype == dtype ? out.data : c.workspace(static_cast<size_t>(out.size) * item_size(dtype));
  multiply(c, a, result);
  epilogue.run(c, result, dtype, a.no_bias ? 2 : 3);
}

std::shared_ptr<const OpDef> with_epilogue(const Attrs& attrs, const Fusion& s) {
  if (s.prologue) return nullptr;
  OpDef op;
  set_attrs_type<FullyConnectedAttrs>(op);
  op.name = "_fused_fully_connected";
  op.inputs.assign((attrs.as<FullyConnectedAttrs>().no_bias ? 2 : 3) + s.epilogue->further(), "data");
  op.outputs = s.epilogue->formula->formula.outputs.size();
  op.strided_inputs = true;
  op.kernel = [epilogue = *s.epilogue, dtype = s.result](KernelContext& c, const Attrs& a) {
    run_with_epilogue(c, a.as<FullyConnectedAttrs>(), epilogue, dtype);
  };
  return std::make_shared<const OpDef>(std::move(op));
}

void complete_fully_connected(Completion& c, const FullyConnectedAttrs& a) {
  const bool has_data = c.has_rank(0) && !c.shape(0).empty();
  const Shape data = has_data ? c.shape(0) : Shape{-1, -1};
  const size_t rows = row_axes(data, a.flatten);
  c.set(1, Shape{a.num_hidden, open_product({data.data() + rows, data.size() - rows})});
  c.set(2, bias_shape(c.has_rank(2) ? c.shape(2) : Shape{}, a.num_hidden));
  if (!has_data) return;
  Shape result(data.begin(), data.begin() + rows);
  result.push_back(a.num_hidden);
  c.set_output(0, result);
  if (!c.has_output_rank() || c.output().size() != rows + 1) return;
  Shape from_result(data.size(), -1);
  for (size_t k = 0; k < rows; ++k) from_result[k] = c.output()[k];
  c.set(0, from_result);
}

void fully_connected_back(Gradient& g, const FullyConnectedAttrs& a) {
  const NDArray &data = g.input(0), &weight = g.input(1);
  NDArray head = matrix_of(g.head(), -1, a.num_hidden);
  if (g.wants(0)) set_product(g, 0, head, weight, false, false);
  if (g.wants(1)) set_product(g, 1, head, matrix_of(data, head.shape()[0], weight.shape()[1]), true, false);
  if (!a.no_bias && g.wants(2)) {
    static const OpDef& sum = find_op("_sum_axes");
    const AttrsPtr over_rows = attrs_of(sum, {{"axis", Shape{0}}});
    if (is_column(g.input(2).shape()))
      g.set(2, matrix_of(invoke_all(sum, over_rows, {&head, 1})[0], a.num_hidden, 1));
    else
      g.set(2, sum, over_rows, {&head, 1});
  }
}

}  // namespace

Operators fully_connected_operators() {
  return {general<FullyConnectedAttrs>({
      .name = "FullyConnected",
      .aliases = {"_npx_fully_connected"},
      .python = {"nd.FullyConnected", "npx.fully_connected"},
      .doc = R"(Linear layer: data times the transpose of weight, plus bias.

With flatten=True data of shape (n, ...) is read as (n, k) and gives (n, num_hidden); otherwise data of shape (..., k)
gives (..., num_hidden). weight has shape (num_hidden, k), bias (num_hidden,) or
(num_hidden, 1); all hold one dtype.
Raises MXNetError when shapes or dtypes do not fit.)",
      .inputs = {"data", "weight", "bias"},
      .np_inputs = {"x", "weight", "bias"},
      .optional_inputs = 1,
      .input_count = [](const FullyConnectedAttrs& a) -> size_t { return a.no_bias ? 2 : 3; },
      .complete = complete_fully_connected,
      .infer = infer_fully_connected,
      .kernel = run_fully_connected,
      .fuse = with_epilogue,
      .quantization = quantization({.becomes = "_contrib_quantized_fully_connected", .is_worthwhile = true}),
      .gradient = fully_connected_back,
      .saves_inputs = 0b011,
      .strided_inputs = true,
      .samples = {{{uniform({2, 3}), uniform({4, 3}), uniform({4})}, make_attrs(FullyConnectedAttrs{.num_hidden = 4})},
                  {{uniform({2, 2, 3}), uniform({4, 3})},
                   make_attrs(FullyConnectedAttrs{.num_hidden = 4, .no_bias = true, .flatten = false})}},
  })};
}

}  // namespace headrace
