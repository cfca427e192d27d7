// Differences of neighbours, and polynomials: np functions put together from other operators.
#include "base/check.h"
#include "op/invoke.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

using Arrays = std::span<const NDArray>;

NDArray flat(const NDArray& array) { return call("_reshape_to", {array}, {{"shape", Shape{array.size()}}}); }

struct DiffAttrs {
  int64_t n = 1, axis = -1;
  static constexpr auto kFields = fields(field(&DiffAttrs::n, "n", "How often differences are taken."),
                                         field(&DiffAttrs::axis, "axis", "Along which neighbours are subtracted."));
};

NDArray diff(NDArray a, int64_t n, int64_t axis) {
  check(a.ndim() > 0, ErrorKind::kValue, "diff: expected an array of at least one dimension, got a scalar");
  check(n >= 0, ErrorKind::kValue, "diff: n must not be negative, got {}", n);
  axis = normalize_axis(axis, static_cast<int64_t>(a.ndim()), "diff");
  for (int64_t i = 0; i < n; ++i) {
    const int64_t extent = a.shape()[static_cast<size_t>(axis)];
    if (extent == 0) break;
    const auto part = [&](int64_t begin, int64_t end) {
      return call("slice_axis", {a}, {{"axis", axis}, {"begin", begin}, {"end", end}});
    };
    const char* op = a.dtype() == DType::kBool ? "_npi_not_equal" : "_npi_subtract";
    a = call(op, {part(1, extent), part(0, extent - 1)});
  }
  return a;
}

OpDef diff_operator() {
  return general<DiffAttrs>(
      {.name = "_npi_diff",
       .doc =
           "The n-th differences of neighbours along an axis, whose extent becomes smaller by n; of bools whether they "
           "differ. Raises ValueError for a scalar array, a negative n or an axis out of range.",
       .inputs = {"a"},
       .compose = [](Arrays in, const DiffAttrs& a) -> std::vector<NDArray> { return {diff(in[0], a.n, a.axis)}; },
       .samples = {uniform({2, 4}), Sample({uniform({4, 2})}, make_attrs(DiffAttrs{.n = 2, .axis = 0}))}});
}

struct Ediff1dAttrs {
  bool to_begin_arr_given = false, to_end_arr_given = false;
  std::optional<double> to_begin_scalar = {}, to_end_scalar = {};
  static constexpr auto kFields = fields(
      field(&Ediff1dAttrs::to_begin_arr_given, "to_begin_arr_given", "Whether an array goes before the differences."),
      field(&Ediff1dAttrs::to_end_arr_given, "to_end_arr_given", "Whether an array goes behind them."),
      field(&Ediff1dAttrs::to_begin_scalar, "to_begin_scalar", "A number that goes before them."),
      field(&Ediff1dAttrs::to_end_scalar, "to_end_scalar", "A number that goes behind them."));
  size_t arrays() const { return 1 + size_t{to_begin_arr_given} + size_t{to_end_arr_given}; }
};

OpDef ediff1d_operator() {
  return general<Ediff1dAttrs>(
      {.name = "_npi_ediff1d",
       .doc = "Differences of neighbours of the flattened array, between what goes before and behind them.",
       .inputs = {"ary", "to_begin", "to_end"},
       .optional_inputs = 2,
       .input_count = [](const Ediff1dAttrs& a) { return a.arrays(); },
       .compose = [](Arrays in, const Ediff1dAttrs& a) -> std::vector<NDArray> {
         check(in.size() == a.arrays(), ErrorKind::kValue, "ediff1d: {} arrays are needed, got {}", a.arrays(),
               in.size());
         std::vector<NDArray> parts;
         size_t next = 1;
         const auto add = [&](bool is_array, const std::optional<double>& number) {
           if (is_array) parts.push_back(flat(in[next++]));
           if (!is_array && number) parts.push_back(full({1}, *number, in[0].dtype(), in[0].device()));
         };
         add(a.to_begin_arr_given, a.to_begin_scalar);
         parts.push_back(diff(flat(in[0]), 1, 0));
         add(a.to_end_arr_given, a.to_end_scalar);
         if (parts.size() == 1) return parts;
         const OpDef& concatenate = find_op("_npi_concatenate");
         return invoke_all(concatenate, attrs_of(concatenate, {{"axis", int64_t{0}}}), parts);
       },
       .samples = {uniform({2, 4}), Sample({uniform({4}), uniform({2})},
                                           make_attrs(Ediff1dAttrs{.to_end_arr_given = true, .to_begin_scalar = 2}))}});
}

constexpr int64_t kMostCoefficients = 1 << 16;  // each is two operations

OpDef polyval_operator() {
  return general<NoAttrs>(
      {.name = "_npi_polyval",
       .doc =
           "The polynomial with the coefficients p, that of the highest power first, at x. Raises ValueError unless p "
           "has one dimension.",
       .inputs = {"p", "x"},
       .compose = [](Arrays in, const NoAttrs&) -> std::vector<NDArray> {
         check(in[0].ndim() == 1, ErrorKind::kValue, "polyval: expected coefficients in one dimension, got shape {}",
               to_string(in[0].shape()));
         check(in[0].size() <= kMostCoefficients, ErrorKind::kValue,
               "polyval: expected at most {} coefficients, got {}", kMostCoefficients, in[0].size());
         NDArray value = zeros_like(in[1]);
         for (int64_t i = 0; i < in[0].size(); ++i) {
           const NDArray coefficient =
               call("slice_axis", {in[0]}, {{"axis", int64_t{0}}, {"begin", i}, {"end", i + 1}});
           value = call("_npi_add", {call("_npi_multiply", {value, in[1]}),
                                     call("_reshape_to", {coefficient}, {{"shape", Shape{}}})});
         }
         return {value};
       },
       .samples = {Sample({uniform({3}), uniform({2, 3})})}});
}

}  // namespace

Operators difference_operators() { return {diff_operator(), ediff1d_operator(), polyval_operator()}; }

}  // namespace headrace
