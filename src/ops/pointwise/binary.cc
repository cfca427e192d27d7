#include "ops/pointwise/binary.h"

#include <fmt/format.h>

#include <cctype>
#include <unordered_map>

#include "op/catalogue.h"
#include "op/gradient.h"
#include "op/quantization.h"
#include "ops/pointwise/binary_rows.h"

namespace headrace {
namespace {

// "greater_equal" with joint "_": "Greater_Equal".
std::string camel(const std::string& word, const std::string& joint) {
  std::string text;
  bool start = true;
  for (char c : word) {
    if (c == '_')
      text += joint;
    else
      text += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '_';
  }
  return text;
}

std::string nd_name(const BinaryRow& row) { return fmt::format("broadcast_{}", row.nd); }
std::string nd_scalar_name(const std::string& word) { return fmt::format("_{}_scalar", word); }
std::string np_name(const BinaryRow& row) { return fmt::format("_npi_{}", row.np); }
std::string np_scalar_name(const std::string& word) { return fmt::format("_npi_{}_scalar", word); }

std::vector<BinaryRow> all_rows() {
  std::vector<BinaryRow> rows;
  for (auto part : {arithmetic_rows, comparison_rows, bitwise_rows})
    for (BinaryRow& row : part()) rows.push_back(std::move(row));
  return rows;
}

ScalarForms scalar_forms(const BinaryRow& row, const std::string& word, const std::string& mirror,
                         std::string (*name)(const std::string&)) {
  if (word.empty()) return {};
  switch (row.swap) {
    case Swap::kCommutes:
      return {name(word), name(word)};
    case Swap::kOwn:
      return {name(word), name(fmt::format("r{}", word))};
    case Swap::kMirror:
      return {name(word), name(mirror)};
  }
  return {};
}

std::string array_doc(const BinaryRow& row, const char* shapes, const char* dtypes) {
  return fmt::format("{}\n\n{}\n{}", row.doc, shapes, dtypes);
}

const char* kBroadcastDoc =
    "The shapes are broadcast against each other: they are aligned at the last axis, and an axis "
    "of length 1 is repeated. Raises MXNetError when they do not fit.";

std::vector<Sample> array_samples(const BinaryRow& row, bool broadcast) {
  auto left = [&](Shape shape) { return uniform(std::move(shape), row.low, row.high, row.sample_dtype); };
  auto right = [&](Shape shape) { return uniform(std::move(shape), row.right_low, row.right_high, row.sample_dtype); };
  std::vector<Sample> samples{Sample({left({2, 3}), right({2, 3})})};
  if (broadcast) {
    samples.push_back(Sample({left({2, 1, 3}), right({4, 1})}));
    samples.push_back(Sample({left({3}), right({0, 3})}));
  }
  return samples;
}

// The gradient given for two arrays, for an array and a number at place 1 - `place`.
FormulaFn scalar_gradient(const FormulaFn& gradient, int place) {
  if (!gradient) return {};
  return [gradient, place](Expr x, Expr y, Expr dy, Expr number) {
    const Expr arguments[] = {place == 0 ? x : number, place == 0 ? number : x, y, dy};
    return gradient(arguments)[static_cast<size_t>(place)];
  };
}

// The operator on an array at `place` and a number.
OpDef scalar_form(const BinaryRow& row, std::string name, int place, DTypeRule dtypes) {
  FormulaFn formula = row.formula;
  PointwiseSpec spec{
      .op = {.name = std::move(name), .np_inputs = {"x"}},
  };
  spec.op.doc = fmt::format(
      "{}\n\nThe {} operand is the number `scalar`. Arrays of integers keep their dtype: the number is "
      "truncated to it.",
      row.doc, place == 0 ? "second" : "first");
  spec.formula = [formula, place](Expr x, Expr number) {
    const Expr arguments[] = {place == 0 ? x : number, place == 0 ? number : x};
    return formula(arguments)[0];
  };
  spec.gradient = scalar_gradient(row.gradient, place);
  spec.op.zero_gradient = row.zero_gradient;
  spec.dtypes = dtypes;
  double low = place == 0 ? row.low : row.right_low, high = place == 0 ? row.high : row.right_high;
  spec.op.samples = {Sample({uniform({2, 3}, low, high, row.sample_dtype)},
                            make_attrs(ScalarAttrs{.scalar = row.sample_dtype == DType::kFloat32 ? 1.5 : 3}))};
  return pointwise<ScalarAttrs>(std::move(spec));
}

PointwiseSpec array_form(const BinaryRow& row, std::string name, DTypeRule dtypes) {
  return {.op = {.name = std::move(name),
                 .inputs = {"lhs", "rhs"},
                 .np_inputs = {"x1", "x2"},
                 .zero_gradient = row.zero_gradient},
          .formula = row.formula,
          .gradient = row.gradient,
          .dtypes = dtypes};
}

void stop_gradient_of_integers(OpDef& op) {
  op.gradient = [own = op.gradient](Gradient& g, const Attrs& a) {
    if (is_floating(g.head().dtype())) own(g, a);
  };
}

void add_nd_forms(const BinaryRow& row, Operators& operators) {
  const char* same_dtype = "Both arrays hold one dtype, which the result has too.";
  if (!row.nd.empty()) {
    PointwiseSpec spec = array_form(row, nd_name(row), row.nd_dtypes);
    spec.op.python = row.nd_python;
    spec.op.python.push_back(fmt::format("nd.{}", spec.op.name));
    if (row.nd_scalar != row.nd && (row.nd_scalar == "plus" || row.nd_scalar == "minus")) {
      spec.op.aliases = {fmt::format("broadcast_{}", row.nd_scalar)};
      spec.op.python.push_back(fmt::format("nd.broadcast_{}", row.nd_scalar));
    }
    spec.op.doc = array_doc(row, kBroadcastDoc, same_dtype);
    spec.op.scalar_forms = scalar_forms(row, row.nd_scalar, row.nd_mirror, nd_scalar_name);
    spec.op.samples = array_samples(row, true);
    operators.push_back(pointwise(std::move(spec)));
  }
  if (!row.elemwise.empty()) {
    PointwiseSpec spec = array_form(row, row.elemwise, row.nd_dtypes);
    bool internal = row.elemwise[0] == '_';
    spec.op.python = {fmt::format("nd.{}{}", internal ? "_internal." : "", row.elemwise)};
    std::vector<std::string> words = {row.nd};
    if (row.nd_scalar != row.nd) words.push_back(row.nd_scalar);
    for (const std::string& word : words)
      if (row.elemwise != fmt::format("_{}", word)) spec.op.aliases.push_back(fmt::format("_{}", word));
    spec.op.aliases.push_back(fmt::format("_{}", camel(row.nd_scalar, "_")));
    spec.op.doc = array_doc(row, "Both arrays have one shape. Raises MXNetError when their shapes differ.", same_dtype);
    spec.equal_shapes = true;
    if (!row.quantized.empty()) spec.op.quantization = quantization({.becomes = row.quantized});
    spec.op.samples = array_samples(row, false);
    operators.push_back(pointwise(std::move(spec)));
  }
  if (row.nd_scalar.empty()) return;
  auto add_scalar = [&](const std::string& word, const std::string& old_name, int place) {
    OpDef op = scalar_form(row, nd_scalar_name(word), place, row.nd_scalar_dtypes);
    op.aliases = {old_name};
    op.python = {fmt::format("nd._internal.{}", op.name)};
    operators.push_back(std::move(op));
  };
  add_scalar(row.nd_scalar, fmt::format("_{}Scalar", camel(row.nd_scalar, "")), 0);
  if (row.swap == Swap::kOwn)
    add_scalar(fmt::format("r{}", row.nd_scalar), fmt::format("_R{}Scalar", camel(row.nd_scalar, "")), 1);
}

void add_np_forms(const BinaryRow& row, Operators& operators) {
  if (row.np.empty()) return;
  PointwiseSpec spec = array_form(row, np_name(row), row.np_dtypes);
  spec.op.python = row.np_python;
  spec.op.doc =
      array_doc(row, kBroadcastDoc,
                "Either argument may be a number. Different dtypes are promoted: the wider float; a float before "
                "any integer; else the wider integer.");
  spec.op.scalar_forms = scalar_forms(row, row.np, row.np_mirror, np_scalar_name);
  spec.op.samples = array_samples(row, true);
  operators.push_back(pointwise(std::move(spec)));
  operators.push_back(scalar_form(row, np_scalar_name(row.np), 0, row.np_scalar_dtypes));
  if (row.swap == Swap::kOwn)
    operators.push_back(scalar_form(row, np_scalar_name(fmt::format("r{}", row.np)), 1, row.np_scalar_dtypes));
}

}  // namespace

Operators binary_operators() {
  Operators operators;
  for (const BinaryRow& row : all_rows()) {
    Operators forms;
    add_nd_forms(row, forms);
    add_np_forms(row, forms);
    for (OpDef& op : forms) {
      if (row.zero_gradient_of_integers) stop_gradient_of_integers(op);
      operators.push_back(std::move(op));
    }
  }
  return operators;
}

const BinaryForms* find_binary(std::string_view name) {
  static const auto& table = *[] {
    auto* made = new std::unordered_map<std::string, BinaryForms>;
    for (const BinaryRow& row : all_rows()) {
      BinaryForms forms;
      forms.nd = catalogue().find(nd_name(row));
      forms.np = catalogue().find(np_name(row));
      auto scalars = [](const OpDef* op, const OpDef*& right, const OpDef*& left) {
        right = catalogue().find(op->scalar_forms.right);
        left = catalogue().find(op->scalar_forms.left);
      };
      if (forms.nd) scalars(forms.nd, forms.nd_scalar, forms.scalar_nd);
      if (forms.np) scalars(forms.np, forms.np_scalar, forms.scalar_np);
      made->emplace(row.name, forms);
    }
    return made;
  }();
  auto found = table.find(std::string(name));
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace headrace
