// Choosing between values: where, clip, nan_to_num.

#include <cmath>
#include <limits>

#include "base/check.h"
#include "op/invoke.h"
#include "op/pointwise.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

// --- where -----------------------------------------------------------------------------------------------------------

OpDef where_arrays(std::string name, std::vector<std::string> python, DTypeRule dtypes) {
  return pointwise(
      {.op = {.name = std::move(name),
              .python = std::move(python),
              .doc = "x where the condition is not zero, y elsewhere, element by element. The shapes are broadcast "
                     "against each other. The gradient goes to the array that was chosen.",
              .inputs = {"condition", "x", "y"},
              .samples = {Sample({integers({2, 3}, 0, 2), uniform({2, 3}), uniform({2, 3})}),
                          Sample({integers({3, 1}, 0, 2), uniform({2, 1, 2}), uniform({2})})}},
       .formula = [](Expr condition, Expr x, Expr y) { return select(condition, x, y); },
       .dtypes = dtypes});
}

// nd.where: a condition with one axis chooses whole rows of arrays with more.
OpDef nd_where() {
  return general<NoAttrs>(
      {.name = "where",
       .python = {"nd.where"},
       .doc = "x where the condition is not zero, y elsewhere. x and y have one shape; the condition has it too, or is "
              "a vector that chooses along the first axis. Raises ValueError for other shapes.",
       .inputs = {"condition", "x", "y"},
       .complete =
           [](Completion& c, const NoAttrs&) {
             c.set_equal(1);
             c.set_equal(2);
           },
       .result_dtype = result_dtypes::like_input(1),
       .compose = [](std::span<const NDArray> in, const NoAttrs&) -> std::vector<NDArray> {
         NDArray condition = in[0];
         const Shape& shape = in[1].shape();
         check(shape == in[2].shape(), ErrorKind::kValue, "where: x has shape {}, but y has shape {}", to_string(shape),
               to_string(in[2].shape()));
         if (!(condition.shape() == shape)) {
           check(condition.ndim() == 1 && !shape.empty() && condition.size() == shape[0], ErrorKind::kValue,
                 "where: the condition has shape {}; it must be {}, or a vector of the first extent",
                 to_string(condition.shape()), to_string(shape));
           Shape column(shape.size(), 1);
           column[0] = shape[0];
           condition = call("_reshape_to", {condition}, {{"shape", column}});
         }
         // Fractions are conditions, too, and digits of whole numbers must not be lost for their sake.
         if (is_floating(condition.dtype()) && !is_floating(in[1].dtype()))
           condition = call("_npi_not_equal_scalar", {condition}, {{"scalar", 0.0}});
         return {call("_where", {condition, in[1], in[2]})};
       },
       .samples = {Sample({integers({2, 3}, 0, 2), uniform({2, 3}), uniform({2, 3})}),
                   Sample({integers({2}, 0, 2), uniform({2, 3}), uniform({2, 3})})}});
}

// where with a number in place of x (`number_first`) or y.
OpDef where_number(std::string name, bool number_first) {
  return pointwise<ScalarAttrs>(
      {.op = {.name = std::move(name),
              .doc = "where with a number in place of one array.",
              .inputs = {"condition", number_first ? "y" : "x"},
              .samples = {Sample({integers({2, 3}, 0, 2), uniform({2, 3})}, make_attrs(ScalarAttrs{.scalar = 2}))}},
       .formula =
           [number_first](Expr condition, Expr array, Expr number) {
             return number_first ? select(condition, number, array) : select(condition, array, number);
           },
       .dtypes = dtype_rules::choice_promoted});
}

struct TwoNumbersAttrs {
  double x = 0, y = 0;
  static constexpr auto kFields = fields(field(&TwoNumbersAttrs::x, "x", "Where the condition is not zero."),
                                         field(&TwoNumbersAttrs::y, "y", "Elsewhere."));
};

PointwiseTypes number_choice(const char*, std::span<const DType> inputs, const Attrs&) {
  bool wide = !is_floating(inputs[0]) || inputs[0] == DType::kFloat64;
  return {wide ? ComputeType::kFloat64 : ComputeType::kFloat32, DType::kFloat32};
}

OpDef where_two_numbers() {
  return pointwise<TwoNumbersAttrs>(
      {.op = {.name = "_npi_where_scalar2",
              .doc = "where with numbers in place of both arrays. The result is float32.",
              .inputs = {"condition"},
              .zero_gradient = true,
              .samples = {Sample({integers({2, 3}, 0, 2)}, make_attrs(TwoNumbersAttrs{1, 2}))}},
       .formula = [](Expr c, Expr x, Expr y) { return select(c, x, y); },
       .dtypes = number_choice});
}

// --- clip ------------------------------------------------------------------------------------------------------------

struct ClipAttrs {
  double a_min = 0, a_max = 0;
  static constexpr auto kFields = fields(field(&ClipAttrs::a_min, "a_min", "Lower bound.").required(),
                                         field(&ClipAttrs::a_max, "a_max", "Upper bound.").required());
};

struct OptionalClipAttrs {
  std::optional<double> low = {}, high = {};
  static constexpr auto kFields = fields(field(&OptionalClipAttrs::low, "a_min", "Lower bound; None: there is none."),
                                         field(&OptionalClipAttrs::high, "a_max", "Upper bound; None: there is none."));
};

struct ClipMethodAttrs {
  std::optional<double> low = {}, high = {};
  static constexpr auto kFields = fields(field(&ClipMethodAttrs::low, "min", "Lower bound; None: there is none."),
                                         field(&ClipMethodAttrs::high, "max", "Upper bound; None: there is none."));
};

constexpr char kClipDoc[] =
    "Every element moved into [a_min, a_max]. The gradient passes inside of the closed interval.";

OpDef clip() {
  return pointwise<ClipAttrs>({.op = {.name = "clip",
                                      .aliases = {"_npi_clip"},
                                      .python = {"nd.clip", "NDArray.clip"},
                                      .doc = kClipDoc,
                                      .samples = {Sample({uniform({2, 3})}, make_attrs(ClipAttrs{-1, 1})),
                                                  Sample({values({-1, 0, 1, kInf})}, make_attrs(ClipAttrs{-1, 1}))}},
                               .formula = [](Expr x, Expr low, Expr high) { return min(max(x, low), high); },
                               .gradient = [](Expr x, Expr, Expr dy, Expr low,
                                              Expr high) { return select(logical_and(x >= low, x <= high), dy, 0); },
                               .dtypes = dtype_rules::numeric});
}

// One bound may be missing, of which MXNet's clip knows nothing.
Spelling spelled_clip(const std::optional<double>& low, const std::optional<double>& high) {
  check(low || high, ErrorKind::kValue, "clip: one of the bounds must be given");
  if (low && high) return {"clip", {{"a_min", *low}, {"a_max", *high}}};
  const double bound = low ? *low : *high;
  return {low ? "_npi_maximum_scalar" : "_npi_minimum_scalar",
          {{"scalar", bound}, {"is_int", bound == std::floor(bound)}}};
}

template <class A>
OpDef optional_clip(std::string name, std::vector<std::string> python) {
  return general<A>(
      {.name = std::move(name),
       .python = std::move(python),
       .doc = fmt::format("{} Raises ValueError when both bounds are None.", kClipDoc),
       .np_inputs = {"a"},
       .complete = keep_shape,
       .result_dtype = result_dtypes::counting,
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         check(a.low || a.high, ErrorKind::kValue, "clip: one of the bounds must be given");
         if (a.low && a.high) return {call("clip", {in[0]}, {{"a_min", *a.low}, {"a_max", *a.high}})};
         if (a.low) return {call("_npi_maximum_scalar", {in[0]}, {{"scalar", *a.low}})};
         return {call("_npi_minimum_scalar", {in[0]}, {{"scalar", *a.high}})};
       },
       .spelling = [](const A& a, size_t) { return spelled_clip(a.low, a.high); },
       .samples = {Sample({uniform({2, 3})}, make_attrs(A{-1, 1})), Sample({uniform({2, 3})}, make_attrs(A{{}, 1}))}});
}

// --- nan_to_num ------------------------------------------------------------------------------------------------------

struct ReplaceAttrs {
  double nan = 0, posinf = 0, neginf = 0;
  static constexpr auto kFields = fields(field(&ReplaceAttrs::nan, "nan", "In place of NaN."),
                                         field(&ReplaceAttrs::posinf, "posinf", "In place of infinity."),
                                         field(&ReplaceAttrs::neginf, "neginf", "In place of minus infinity."));
};

struct NanToNumAttrs {
  bool copy = true;
  double nan = 0;
  std::optional<double> posinf = {}, neginf = {};
  static constexpr auto kFields =
      fields(field(&NanToNumAttrs::copy, "copy", "False: the input is changed and returned, unless it is recorded."),
             field(&NanToNumAttrs::nan, "nan", "In place of NaN."),
             field(&NanToNumAttrs::posinf, "posinf", "In place of infinity; the largest number when None."),
             field(&NanToNumAttrs::neginf, "neginf", "In place of minus infinity; the lowest number when None."));
};

double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::max();
    case DType::kFloat16:
      return 65504;
    case DType::kBfloat16:
      return 0x1.FEp127;
    default:
      return std::numeric_limits<float>::max();
  }
}

OpDef replace() {
  return pointwise<ReplaceAttrs>({.op = {.name = "_nan_to_num",
                                         .doc = "NaN and the infinities replaced by numbers.",
                                         .samples = {values({0, 1, kInf, -kInf, kNan})}},
                                  .formula = [](Expr x, Expr nan, Expr posinf, Expr neginf) {
                                    Expr finite = select(x == kInf, posinf, select(x == -kInf, neginf, x));
                                    return select(isnan(x), nan, finite);
                                  }});
}

OpDef nan_to_num() {
  return general<NanToNumAttrs>(
      {.name = "_npi_nan_to_num",
       .python = {"np.nan_to_num"},
       .doc = "NaN and the infinities replaced by numbers; other elements and all integers stay.",
       .np_inputs = {"x"},
       .complete = keep_shape,
       .compose = [](std::span<const NDArray> in, const NanToNumAttrs& a) -> std::vector<NDArray> {
         DType dtype = in[0].dtype();
         if (!is_floating(dtype)) return {a.copy ? call("_copy", {in[0]}) : in[0]};
         double most = largest(dtype);
         NDArray result =
             call("_nan_to_num", {in[0]},
                  {{"nan", a.nan}, {"posinf", a.posinf.value_or(most)}, {"neginf", a.neginf.value_or(-most)}});
         // What is recorded stays as it was, for the gradient is that of the result.
         const ThreadState& state = thread_state();
         if (a.copy || state.tracing || (state.recording && in[0].node())) return {result};
         copy_into(in[0], result);
         return {in[0]};
       },
       .samples = {uniform({2, 3}), values({0, 1, kInf, -kInf, kNan})}});
}

}  // namespace

Operators choice_operators() {
  Operators operators;
  operators.push_back(where_arrays("_where", {}, dtype_rules::choice_same));
  operators.push_back(where_arrays("_npi_where", {"np.where"}, dtype_rules::choice_promoted));
  operators.push_back(nd_where());
  operators.push_back(where_number("_npi_where_lscalar", true));
  operators.push_back(where_number("_npi_where_rscalar", false));
  operators.push_back(where_two_numbers());
  operators.push_back(clip());
  operators.push_back(optional_clip<OptionalClipAttrs>("_np_clip", {"np.clip"}));
  operators.push_back(optional_clip<ClipMethodAttrs>("_np_clip_method", {"ndarray.clip"}));
  operators.push_back(replace());
  operators.push_back(nan_to_num());
  return operators;
}

}  // namespace headrace
