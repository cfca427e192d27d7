// Random integers, permutations, choices and candidates.

#include <cstring>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/spelling.h"
#include "ops/random/sampling.h"

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

void infer_randint(Infer& i, const RandintAttrs& a) {
  DType dtype = a.dtype.value_or(DType::kInt32);
  i.require(is_integer(dtype), ErrorKind::kType, "dtype must be an integer dtype, got {}", dtype_name(dtype));
  i.require(a.low < a.high, ErrorKind::kValue, "low must be below high, got {} and {}", a.low, a.high);
  expect_extents(i, a.shape);
  i.output(a.shape, dtype);
  if (a.ctx) i.device(parse_device(*a.ctx));
  i.cost(100 + static_cast<double>(element_count(a.shape)) * 10);
  generators().draw(i, Streams::kParallel);
}

// A 63-bit number from two words, as MXNet makes it.
template <class Stream>
uint64_t wide_word(Stream& stream) {
  uint64_t high = static_cast<uint32_t>(stream());
  return (high << 31) + static_cast<uint32_t>(stream());
}

OpDef randint() {
  return general<RandintAttrs>({
      .name = "_random_randint",
      .aliases = {"random_randint", "_npi_random_randint"},
      .python = {"nd.random_randint"},
      .doc = "Integers uniform in [low, high). Raises ValueError unless low < high.",
      .inputs = {},
      .result_dtype = [](std::span<const DType>, const RandintAttrs& a,
                         size_t) { return a.dtype.value_or(DType::kInt32); },
      .infer = infer_randint,
      .kernel =
          [](KernelContext& c, const RandintAttrs& a) {
            const Tensor& out = c.output(0);
            uint64_t range = static_cast<uint64_t>(a.high) - static_cast<uint64_t>(a.low);
            dispatch(out.dtype, [&]<class T>() {
              if constexpr (std::is_integral_v<T>)
                for_each_sample(c, Streams::kParallel, out.size, 10, [&](auto& stream, int64_t i) {
                  out.as<T>()[i] = static_cast<T>(a.low + static_cast<int64_t>(wide_word(stream) % range));
                });
            });
          },
      .zero_gradient = true,
      .is_random = true,
      .samples = {Sample({}, make_attrs(RandintAttrs{.low = -5, .high = 50, .shape = {2, 3}})),
                  Sample({}, make_attrs(RandintAttrs{.high = 200, .shape = {4}, .dtype = DType::kUint8}))},
  });
}

// --- shuffle ---------------------------------------------------------------------------------------------------------

// An integer in [0, bound).
template <class Stream>
int64_t below(Stream& stream, int64_t bound) {
  return static_cast<int64_t>(wide_word(stream) % static_cast<uint64_t>(bound));
}

// 0..n-1 in random order. mt19937: as MXNet orders rows.
std::vector<int64_t> permutation(const KernelContext& c, int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  with_stream(c, [&](auto& stream) {
    for (int64_t i = n - 1; i > 0; --i) {
      const int64_t other = c.ticket() == kMtTicket && i < std::numeric_limits<uint32_t>::max()
                                ? small_below(stream, static_cast<uint32_t>(i) + 1)
                                : below(stream, i + 1);
      std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(other)]);
    }
  });
  return order;
}

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
            int64_t rows = to.shape[0];
            if (to.size == 0) return;
            std::vector<int64_t> order = permutation(c, rows);
            size_t bytes = static_cast<size_t>(to.size / rows) * item_size(to.dtype);
            parallel_for(rows, 16, static_cast<double>(to.size), [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i)
                std::memcpy(to.as<char>() + static_cast<size_t>(i) * bytes,
                            from.as<char>() + static_cast<size_t>(order[static_cast<size_t>(i)]) * bytes, bytes);
            });
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

// --- choice: how words become indices --------------------------------------------------------------------------------

// Whether MXNet draws an index below this bound by one word; else two.
constexpr bool is_of_one_word(int64_t bound) { return bound <= std::numeric_limits<uint32_t>::max(); }

template <class Stream>
int64_t index_below(Stream& stream, int64_t bound) {
  if constexpr (kAsMxnet<Stream>)
    if (is_of_one_word(bound))
      return static_cast<int64_t>(static_cast<uint32_t>(stream()) % static_cast<uint64_t>(bound));
  return below(stream, bound);
}

// 0, 1, 2 ... some of which have changed places; takes memory for these alone.
class Numbers {
 public:
  int64_t at(int64_t place) const {
    const auto found = moved_.find(place);
    return found == moved_.end() ? place : found->second;
  }
  void swap(int64_t one, int64_t other) {
    const int64_t first = at(one), second = at(other);
    moved_[one] = second;
    moved_[other] = first;
  }

 private:
  std::unordered_map<int64_t, int64_t> moved_;
};

// Different ones of 0..n-1, as many as there is room for.
template <class Stream>
void fill_different(Stream& stream, int64_t n, std::span<int64_t> indices) {
  const auto count = static_cast<int64_t>(indices.size());
  Numbers numbers;
  int64_t first = 0;
  if constexpr (kAsMxnet<Stream>) {  // what is exchanged are the fewer of those wanted and those left
    const int64_t exchanged = std::min(count, n - count), kept = n - exchanged;
    for (int64_t i = 0; i < exchanged; ++i)
      if (const int64_t place = index_below(stream, kept + i + 1); place < kept) numbers.swap(place, kept + i);
    if (count < n - count) first = n - count;
  } else {
    for (int64_t i = 0; i < count; ++i) numbers.swap(i, i + index_below(stream, n - i));
  }
  for (int64_t i = 0; i < count; ++i) indices[static_cast<size_t>(i)] = numbers.at(first + i);
}

// The same by weights, of which there are enough that are positive: those with the largest keys, each a Gumbel variate
// and the logarithm of the weight.
template <class Stream>
void fill_different(Stream& stream, const std::vector<double>& weights, std::span<int64_t> indices) {
  using Real = Decider<Stream>;
  std::vector<std::pair<Real, int64_t>> keys;
  for (size_t i = 0; i < weights.size(); ++i)
    keys.emplace_back(-std::log(-std::log(uniform01<Real>(stream))) + std::log(static_cast<Real>(weights[i])),
                      static_cast<int64_t>(i));
  std::ranges::stable_sort(keys, std::greater<>(), &std::pair<Real, int64_t>::first);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = keys[i].second;
}

std::vector<double> weights_of(const KernelContext& c, const Tensor& given) {
  std::vector<double> weights(static_cast<size_t>(given.size));
  dispatch(given.dtype, [&]<class T>() {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(given.as<T>()[i]);
  });
  const bool are_any = std::ranges::any_of(weights, [](double w) { return w > 0; });
  check(std::ranges::all_of(weights, [](double w) { return w >= 0; }) && are_any, ErrorKind::kValue,
        "{}: probabilities must not be negative and not all 0", c.name());
  return weights;
}

// By running sums of weights.
template <class Stream>
int64_t by_sums(Stream& stream, const std::vector<double>& sums) {
  const double u = uniform_below_sum<Decider<Stream>>(stream, sums.back());
  const auto found = std::lower_bound(sums.begin(), sums.end(), u);
  return std::min<int64_t>(found - sums.begin(), static_cast<int64_t>(sums.size()) - 1);
}

void run_choice(KernelContext& c, const ChoiceAttrs& a) {
  const Tensor& out = c.output(0);
  const std::span<int64_t> indices(out.as<int64_t>(), static_cast<size_t>(out.size));
  const int64_t choices = a.a ? *a.a : c.input(0).shape[0];
  if (!a.is_weighted(c.input_count())) {
    if (!a.replace) return with_stream(c, [&](auto& stream) { fill_different(stream, choices, indices); });
    const auto draw = [&](auto& stream, int64_t i) { indices[static_cast<size_t>(i)] = index_below(stream, choices); };
    return for_each_sample(c, Streams::kSequential, out.size, 3, draw, is_of_one_word(choices) ? 1 : 2);
  }
  std::vector<double> weights = weights_of(c, c.input(a.weights()));
  const int64_t usable = std::ranges::count_if(weights, [](double w) { return w > 0; });
  check(a.replace || usable >= out.size, ErrorKind::kValue,
        "{}: {} different indices are wanted, but only {} have a probability", c.name(), out.size, usable);
  if (!a.replace) return with_stream(c, [&](auto& stream) { fill_different(stream, weights, indices); });
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  const auto draw = [&](auto& stream, int64_t i) { indices[static_cast<size_t>(i)] = by_sums(stream, weights); };
  for_each_sample(c, Streams::kSequential, out.size, 30, draw, 1);
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

template <class Stream>
void draw_row(Stream& stream, int64_t range_max, std::span<int64_t> row, int64_t& tries) {
  const double range = std::log(static_cast<double>(range_max));
  std::unordered_set<int64_t> seen;
  for (tries = 0; seen.size() < row.size(); ++tries) {
    const int64_t drawn = std::lround(std::exp(uniform01<double>(stream) * range)) - 1;
    if (seen.insert(drawn).second) row[seen.size() - 1] = drawn;
  }
}

void run_candidates(KernelContext& c, const CandidateAttrs& a) {
  const int64_t rows = a.shape[0], classes = a.shape[1];
  const auto draw = [&](auto& stream, int64_t row) {
    draw_row(stream, a.range_max, {c.output(0).as<int64_t>() + row * classes, static_cast<size_t>(classes)},
             c.output(1).as<int64_t>()[row]);
  };
  if (c.ticket() != kMtTicket) return for_each_sample(c, Streams::kParallel, rows, 1e4, draw);
  // As in MXNet, one state for a row, or for as many as there are more rows than states.
  const int64_t step = rows / kMaxParallelStates + (rows % kMaxParallelStates > 0);
  for (int64_t row = 0; row < rows; ++row)
    draw(generators().states(Streams::kParallel).at(static_cast<size_t>(row / step)), row);
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
      .kernel = run_candidates,
      .zero_gradient = true,
      .is_random = true,
      .samples = {Sample({}, make_attrs(CandidateAttrs{50, {2, 9}}))},
  });
}

}  // namespace

Operators random_integer_operators() { return {randint(), shuffle(), choice(), candidates()}; }

}  // namespace headrace
