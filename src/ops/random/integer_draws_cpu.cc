#include "ops/random/integer_draws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/dtype_dispatch.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

void integers_on_host(KernelContext& c, int64_t low, uint64_t range, const Tensor& output) {
  dispatch(output.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>)
      for_each_sample(c, Streams::kParallel, output.size, 10, [&](auto& stream, int64_t i) {
        output.as<T>()[i] = static_cast<T>(low + static_cast<int64_t>(wide_word(stream) % range));
      });
  });
}

// An integer in [0, bound).
template <class Stream>
int64_t below(Stream& stream, int64_t bound) {
  return static_cast<int64_t>(wide_word(stream) % static_cast<uint64_t>(bound));
}

// mt19937: as MXNet orders rows.
void order_on_host(KernelContext& c, const Tensor& output) {
  int64_t* const order = output.as<int64_t>();
  std::iota(order, order + output.size, int64_t{0});
  with_stream(c, [&](auto& stream) {
    for (int64_t i = output.size - 1; i > 0; --i) {
      const int64_t other = c.ticket() == kMtTicket && i < std::numeric_limits<uint32_t>::max()
                                ? small_below(stream, static_cast<uint32_t>(i) + 1)
                                : below(stream, i + 1);
      std::swap(order[i], order[other]);
    }
  });
}

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

std::vector<double> weights_of(const Tensor& given) {
  std::vector<double> weights(static_cast<size_t>(given.size));
  dispatch(given.dtype, [&]<class T>() {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(given.as<T>()[i]);
  });
  return weights;
}

// By running sums of weights.
template <class Stream>
int64_t by_sums(Stream& stream, const std::vector<double>& sums) {
  const double u = uniform_below_sum<Decider<Stream>>(stream, sums.back());
  const auto found = std::lower_bound(sums.begin(), sums.end(), u);
  return std::min<int64_t>(found - sums.begin(), static_cast<int64_t>(sums.size()) - 1);
}

void indices_on_host(KernelContext& c, int64_t choices, const Tensor& indices) {
  const auto draw = [&](auto& stream, int64_t i) { indices.as<int64_t>()[i] = index_below(stream, choices); };
  for_each_sample(c, Streams::kSequential, indices.size, 3, draw, is_of_one_word(choices) ? 1 : 2);
}

std::span<int64_t> span_of(const Tensor& indices) { return {indices.as<int64_t>(), static_cast<size_t>(indices.size)}; }

void different_on_host(KernelContext& c, int64_t choices, const Tensor& indices) {
  with_stream(c, [&](auto& stream) { fill_different(stream, choices, span_of(indices)); });
}

void by_weights_on_host(KernelContext& c, const Tensor& given, bool replace, const Tensor& indices) {
  std::vector<double> weights = weights_of(given);
  check_weights(c.name(), std::ranges::all_of(weights, [](double w) { return w >= 0; }),
                std::ranges::count_if(weights, [](double w) { return w > 0; }), replace ? 0 : indices.size);
  if (!replace) return with_stream(c, [&](auto& stream) { fill_different(stream, weights, span_of(indices)); });
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  const auto draw = [&](auto& stream, int64_t i) { indices.as<int64_t>()[i] = by_sums(stream, weights); };
  for_each_sample(c, Streams::kSequential, indices.size, 30, draw, 1);
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

void candidates_on_host(KernelContext& c, int64_t range_max) {
  const int64_t rows = c.output(0).shape[0], classes = c.output(0).shape[1];
  const auto draw = [&](auto& stream, int64_t row) {
    draw_row(stream, range_max, {c.output(0).as<int64_t>() + row * classes, static_cast<size_t>(classes)},
             c.output(1).as<int64_t>()[row]);
  };
  if (c.ticket() != kMtTicket) return for_each_sample(c, Streams::kParallel, rows, 1e4, draw);
  // As in MXNet, one state for a row, or for as many as there are more rows than states.
  const int64_t step = rows / kMaxParallelStates + (rows % kMaxParallelStates > 0);
  for (int64_t row = 0; row < rows; ++row)
    draw(generators().states(Streams::kParallel).at(static_cast<size_t>(row / step)), row);
}

}  // namespace

void check_weights(const char* name, bool are_weights, int64_t positive, int64_t wanted) {
  check(are_weights && positive > 0, ErrorKind::kValue, "{}: probabilities must not be negative and not all 0", name);
  check(positive >= wanted, ErrorKind::kValue, "{}: {} different indices are wanted, but only {} have a probability",
        name, wanted, positive);
}

const decltype(draw_integers) draw_integers{"draw_integers", integers_on_host};
const decltype(draw_order) draw_order{"draw_order", order_on_host};
const decltype(draw_indices) draw_indices{"draw_indices", indices_on_host};
const decltype(draw_different) draw_different{"draw_different", different_on_host};
const decltype(draw_by_weights) draw_by_weights{"draw_by_weights", by_weights_on_host};
const decltype(draw_candidates) draw_candidates{"draw_candidates", candidates_on_host};

}  // namespace headrace
