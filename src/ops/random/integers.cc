// Random integers, permutations, choices and candidates.

#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/index/indices.h"
#include "ops/random/generator.h"
#include "ops/random/integer_draws.h"

namespace headrace {
namespace {

// --- randint ---------------------------------------------------------------------------------------------------------

struct RandintAttrs {
  int64_t low = 0, high = 0;
  Shape shape = {1};
  std::optional<DType> dtype = {};
  std::optional<std::string> ctx = {};
  static constexpr auto kFields =
      fields(field(&RandintAttrs::low, "low", "Smallest value.").required(),
             field(&RandintAttrs::high, "high", "One above the largest value.").required(),
             field(&RandintAttrs::shape, "shape", "Shape of the result."),
             field(&RandintAttrs::dtype, "dtype", "An integer dtype; None: int32."),
             field(&RandintAttrs::ctx, "ctx", "Device of the result; None: the current one."));
};

bool holds(DType dtype, int64_t value) {
  return dispatch(dtype, [value]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return std::in_range<T>(value);
    else
      return true;
  });
}

void infer_randint(Infer& i, const RandintAttrs& a) {
  DType dtype = a.dtype.value_or(DType::kInt32);
  i.require(is_integer(dtype), ErrorKind::kType, "dtype must be an integer dtype, got {}", dtype_name(dtype));
  i.require(a.low < a.high, ErrorKind::kValue, "low must be below high, got {} and {}", a.low, a.high);
  i.require(holds(dtype, a.low) && holds(dtype, a.high - 1), ErrorKind::kValue,
            "the integers from {} to {} do not all fit {}; give a wider dtype", a.low, a.high - 1, dtype_name(dtype));
  expect_extents(i, a.shape);
  i.output(a.shape, dtype);
  if (a.ctx) i.device(parse_device(*a.ctx));
  i.cost(100 + static_cast<double>(element_count(a.shape)) * 10);
  generators().draw(i, Streams::kParallel);
}

OpDef randint() {
  return general<RandintAttrs>({
      .name = "_random_randint",
      .aliases = {"random_randint", "_npi_random_randint"},
      .python = {"nd.random_randint"},
      .doc = "Integers uniform in [low, high). Raises ValueError unless low < high and the dtype holds them.",
      .inputs = {},
      .result_dtype = [](std::span<const DType>, const RandintAttrs& a,
                         size_t) { return a.dtype.value_or(DType::kInt32); },
      .infer = infer_randint,
      .kernel =
          [](KernelContext& c, const RandintAttrs& a) {
            draw_integers(c, a.low, static_cast<uint64_t>(a.high) - static_cast<uint64_t>(a.low), c.output(0));
          },
      .zero_gradient = true,
      .is_random = true,
      .samples = {Sample({}, make_attrs(RandintAttrs{.low = -5, .high = 50, .shape = {2, 3}})),
                  Sample({}, make_attrs(RandintAttrs{.high = 200, .shape = {4}, .dtype = DType::kUint8}))},
  });
}

// --- shuffle ---------------------------------------------------------------------------------------------------------

OpDef shuffle() {
  return general<NoAttrs>({
      .name = "_shuffle",
      .aliases = {"shuffle", "_npi_shuffle"},
      .python = {"nd.random.shuffle", "nd.shuffle"},
      .doc = "A new array with the entries of the first axis in random order.",
      .infer =
          [](Infer& i, const NoAttrs&) {
            i.require(!i.shape(0).empty(), ErrorKind::kValue, "at least one axis is needed, got shape ()");
            i.output(i.shape(0), i.dtype(0));
            generators().draw(i, Streams::kSequential);
          },
      .kernel =
          [](KernelContext& c, const NoAttrs&) {
            const Tensor &from = c.input(0), &to = c.output(0);
            if (to.size == 0) return;
            const int64_t rows = to.shape[0];
            const Shape shape{rows};
            const Strides strides{1};
            const Tensor order{c.workspace<int64_t>(rows), DType::kInt64, shape, strides, rows};
            draw_order(c, order);
            take_slices(c, from, {order, IndexMode::kClip, 0}, {1, rows, to.size / rows}, to);
          },
      .zero_gradient = true,
      .saves_inputs = kNothing,
      .is_random = true,
      .samples = {uniform({9, 2})},
  });
}

// --- choice ----------------------------------------------------------------------------------------------------------

struct ChoiceAttrs {
  std::optional<int64_t> a = {};
  Shape size = {};
  bool replace = true;
  std::optional<std::string> ctx = {};
  bool weighted = false;
  static constexpr auto kFields = fields(
      field(&ChoiceAttrs::a, "a", "Indices are drawn from 0 to a-1; None: of the first axis of the first input."),
      field(&ChoiceAttrs::size, "size", "Shape of the result."),
      field(&ChoiceAttrs::replace, "replace", "Whether an index may be drawn again."),
      field(&ChoiceAttrs::ctx, "ctx", "Device of the result; None: the current one."),
      field(&ChoiceAttrs::weighted, "weighted", "Whether there are probabilities; follows from the call.").of_files());
  // The input that holds probabilities, if there is one.
  size_t weights() const { return a ? 0 : 1; }
  bool is_weighted(size_t inputs) const { return inputs > weights(); }
};

void run_choice(KernelContext& c, const ChoiceAttrs& a) {
  const Tensor& indices = c.output(0);
  if (a.is_weighted(c.input_count())) return draw_by_weights(c, c.input(a.weights()), a.replace, indices);
  const int64_t choices = a.a ? *a.a : c.input(0).shape[0];
  if (a.replace)
    draw_indices(c, choices, indices);
  else
    draw_different(c, choices, indices);
}

OpDef choice() {
  return general<ChoiceAttrs>({
      .name = "_npi_choice",
      .doc =
          "Indices drawn with or without replacement, uniformly or with given probabilities. Inputs are the array to "
          "choose from, where a is None, and the probabilities.",
      .inputs = {"input1", "input2"},
      .optional_inputs = 2,
      .result_dtype = result_dtypes::always(DType::kInt64),
      .infer =
          [](Infer& i, const ChoiceAttrs& a) {
            expect_extents(i, a.size);
            const int64_t count = element_count(a.size);
            i.require(a.a || (i.input_count() > 0 && !i.shape(0).empty()), ErrorKind::kValue,
                      "give a number a, or an array with an axis to choose along");
            const int64_t choices = a.a ? *a.a : i.shape(0)[0];
            i.require(choices > 0, ErrorKind::kValue, "a must be positive, got {}", choices);
            i.require(a.replace || count <= choices, ErrorKind::kValue,
                      "{} different values cannot be drawn from {}; use replace=True", count, choices);
            if (a.is_weighted(i.input_count()))
              i.require(i.shape(a.weights()) == Shape{choices}, ErrorKind::kValue, "p must have shape ({},), got {}",
                        choices, to_string(i.shape(a.weights())));
            i.output(a.size, DType::kInt64);
            if (a.ctx) i.device(parse_device(*a.ctx));
            generators().draw(i, Streams::kSequential);
          },
      .kernel = run_choice,
      .spelling =
          [](const ChoiceAttrs& a, size_t inputs) {
            return placed(
                {"_npi_choice",
                 {{"a", or_none(a.a)}, {"size", a.size}, {"replace", a.replace}, {"weighted", a.is_weighted(inputs)}}},
                {}, a.ctx);
          },
      .zero_gradient = true,
      .saves_inputs = kNothing,
      .is_random = true,
      .samples = {Sample({}, make_attrs(ChoiceAttrs{.a = 50, .size = {2, 3}})),
                  Sample({}, make_attrs(ChoiceAttrs{.a = 20, .size = {6}, .replace = false})),
                  Sample({uniform({9}, 0.1, 1)}, make_attrs(ChoiceAttrs{.a = 9, .size = {8}})),
                  Sample({uniform({9, 2})}, make_attrs(ChoiceAttrs{.size = {4, 2}})),
                  Sample({uniform({9}), uniform({9}, 0.1, 1)}, make_attrs(ChoiceAttrs{.size = {4}})),
                  Sample({uniform({9}, 0.1, 1)}, make_attrs(ChoiceAttrs{.a = 9, .size = {8}, .replace = false}))},
  });
}

// --- candidates ------------------------------------------------------------------------------------------------------

struct CandidateAttrs {
  int64_t range_max = 0;
  Shape shape = {};
  static constexpr auto kFields =
      fields(field(&CandidateAttrs::range_max, "range_max", "Number of classes.").required(),
             field(&CandidateAttrs::shape, "shape", "Rows, and how many different classes each has.").required());
};

void infer_candidates(Infer& i, const CandidateAttrs& a) {
  i.require(a.shape.size() == 2, ErrorKind::kValue, "shape must be (rows, classes of each), got {}",
            to_string(a.shape));
  expect_extents(i, a.shape);
  i.require(a.shape[1] <= a.range_max, ErrorKind::kValue, "{} different classes cannot be drawn from {}", a.shape[1],
            a.range_max);
  i.output(a.shape, DType::kInt64);
  i.output({a.shape[0]}, DType::kInt64);
  generators().draw(i, Streams::kParallel);
}

OpDef candidates() {
  return general<CandidateAttrs>({
      .name = "_sample_unique_zipfian",
      .doc =
          "Different classes for each row, class k with a probability of about log((k + 2) / (k + 1)), in the order in "
          "which they were drawn, and how many draws each row took: int64. Raises ValueError for more classes than "
          "there are.",
      .inputs = {},
      .outputs = 2,
      .result_dtype = result_dtypes::always(DType::kInt64),
      .infer = infer_candidates,
      .kernel = [](KernelContext& c, const CandidateAttrs& a) { draw_candidates(c, a.range_max); },
      .zero_gradient = true,
      .is_random = true,
      .samples = {Sample({}, make_attrs(CandidateAttrs{50, {2, 9}}))},
  });
}

}  // namespace

Operators random_integer_operators() { return {randint(), shuffle(), choice(), candidates()}; }

}  // namespace headrace
