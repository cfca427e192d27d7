// unique, bincount and histogram: results that depend on the values of an array, which they wait for.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "op/formula/transfer.h"
#include "op/invoke.h"
#include "op/result_dtype.h"
#include "op/spelling.h"

namespace headrace {
namespace {

// The elements of an array as doubles or integers. Waits for it.
template <class T>
std::vector<T> values_of(const NDArray& array, ComputeType type) {
  check_has_values(array, "asnumpy");
  std::vector<char> bytes(static_cast<size_t>(array.size()) * item_size(array.dtype()));
  array.copy_to_host(bytes.data());
  std::vector<T> values(static_cast<size_t>(array.size()));
  load_function(array.dtype(), type)(values.data(), bytes.data(), 1, array.size());
  return values;
}

NDArray int64_vector(const std::vector<int64_t>& values, Device device) {
  return NDArray::from_host(values.data(), {static_cast<int64_t>(values.size())}, DType::kInt64, device);
}

// --- unique ----------------------------------------------------------------------------------------------------------

struct UniqueAttrs {
  bool return_index = false, return_inverse = false, return_counts = false;
  std::optional<int64_t> axis = {};
  static constexpr auto kFields = fields(
      field(&UniqueAttrs::return_index, "return_index", "Also give where each value first occurs."),
      field(&UniqueAttrs::return_inverse, "return_inverse", "Also give, for each element, its place among the values."),
      field(&UniqueAttrs::return_counts, "return_counts", "Also give how often each value occurs."),
      field(&UniqueAttrs::axis, "axis", "Compare slices along this axis; None: elements of the flattened array."));
};

// Rows in ascending order, equal ones grouped, the earliest row of each group first.
struct Groups {
  std::vector<int64_t> first, inverse, counts;
};

// NaN is the largest value.
template <class T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

template <class Compare>
Groups group_ordered(const std::vector<int64_t>& order, const Compare& compare) {
  Groups groups;
  groups.inverse.resize(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || compare(order[k - 1], order[k])) {
      groups.first.push_back(order[k]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<size_t>(order[k])] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  return groups;
}

template <class T>
Groups group_rows(const std::vector<T>& values, int64_t rows, int64_t length) {
  const auto row = [&](int64_t r) { return values.begin() + r * length; };
  const auto compare = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare(row(a), row(a) + length, row(b), row(b) + length, is_less<T>);
  };
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), compare);
  return group_ordered(order, compare);
}

template <class T>
Groups group_elements(const std::vector<T>& values, const std::vector<int64_t>& order) {
  return group_ordered(order, [&](int64_t a, int64_t b) {
    return is_less(values[static_cast<size_t>(a)], values[static_cast<size_t>(b)]);
  });
}

Groups groups_of(const NDArray& array, int64_t rows) {
  const int64_t length = rows == 0 ? 0 : array.size() / rows;
  const auto group = [&]<class T>(ComputeType type, T) {
    const std::vector<T> values = values_of<T>(array, type);
    if (length != 1) return group_rows(values, rows, length);
    const NDArray flat = call("_reshape_to", {array}, {{"shape", Shape{rows}}});
    const NDArray order = call("argsort", {flat}, {{"is_ascend", true}, {"dtype", DType::kInt64}});
    return group_elements(values, order.to_vector<int64_t>());
  };
  if (is_floating(array.dtype())) return group(ComputeType::kFloat64, double{});
  if (array.dtype() == DType::kUint64) return group(ComputeType::kUint64, uint64_t{});
  return group(ComputeType::kInt64, int64_t{});
}

OpDef unique() {
  return general<UniqueAttrs>(
      {.name = "_npi_unique",
       .python = {"np.unique"},
       .doc =
           "The sorted different elements of an array; along an axis its different slices. On request also, as int64, "
           "where "
           "each first occurs, the place of every element among them, and how often each occurs. Waits for the array. "
           "Raises ValueError for an axis out of range.",
       .inputs = {"ar"},
       .output_count = [](const UniqueAttrs& a) -> size_t {
         return 1 + size_t{a.return_index} + size_t{a.return_inverse} + size_t{a.return_counts};
       },
       .result_dtype = [](std::span<const DType> inputs, const UniqueAttrs&,
                          size_t k) { return k == 0 ? inputs[0] : DType::kInt64; },
       .compose = [](std::span<const NDArray> in, const UniqueAttrs& a) -> std::vector<NDArray> {
         const auto ndim = static_cast<int64_t>(in[0].ndim());
         const int64_t axis = a.axis ? normalize_axis(*a.axis, ndim, "unique") : 0;
         NDArray x = a.axis ? in[0] : call("_reshape_to", {in[0]}, {{"shape", Shape{in[0].size()}}});
         NDArray rows = axis == 0 ? x : call("SwapAxis", {x}, {{"dim1", int64_t{0}}, {"dim2", axis}});
         const Groups groups = groups_of(without_history(rows), rows.shape()[0]);
         const Device device = x.device();
         std::vector<NDArray> results{call("take", {x, int64_vector(groups.first, device)}, {{"axis", axis}})};
         if (a.return_index) results.push_back(int64_vector(groups.first, device));
         if (a.return_inverse) results.push_back(int64_vector(groups.inverse, device));
         if (a.return_counts) results.push_back(int64_vector(groups.counts, device));
         return results;
       },
       .samples = {values({3, 1, 3, 2}),
                   Sample(
                       {values({3, 1, 3, 2})},
                       make_attrs(UniqueAttrs{.return_index = true, .return_inverse = true, .return_counts = true}))}});
}

// --- counting --------------------------------------------------------------------------------------------------------

struct BincountAttrs {
  int64_t minlength = 0;
  bool has_weights = false;
  static constexpr auto kFields =
      fields(field(&BincountAttrs::minlength, "minlength", "Least length of the result."),
             field(&BincountAttrs::has_weights, "has_weights", "Whether there are weights; follows from the call.")
                 .of_files());
};

DType count_dtype(DType counted) { return counted == DType::kInt64 ? DType::kInt64 : DType::kInt32; }

OpDef bincount() {
  return general<BincountAttrs>(
      {.name = "_npi_bincount",
       .python = {"np.bincount"},
       .doc =
           "How often each of 0, 1, 2 ... occurs, as int64 for int64 and else as int32; with `weights` the sum of the "
           "weights at each, in their "
           "dtype. "
           "Waits for the arrays. Raises ValueError for negative or non-integer values, or weights of another shape.",
       .inputs = {"x", "weights"},
       .optional_inputs = 1,
       .result_dtype = [](std::span<const DType> inputs, const BincountAttrs&,
                          size_t) { return inputs.size() == 2 ? inputs[1] : count_dtype(inputs[0]); },
       .compose = [](std::span<const NDArray> in, const BincountAttrs& a) -> std::vector<NDArray> {
         check(!is_floating(in[0].dtype()) && in[0].ndim() == 1, ErrorKind::kValue,
               "bincount: expected integers of one dimension, got {} of shape {}", dtype_name(in[0].dtype()),
               to_string(in[0].shape()));
         check(in.size() == 1 || in[1].shape() == in[0].shape(), ErrorKind::kValue,
               "bincount: expected weights of shape {}, got {}", to_string(in[0].shape()),
               to_string(in.back().shape()));
         check(a.minlength >= 0, ErrorKind::kValue, "bincount: minlength must not be negative, got {}", a.minlength);
         const std::vector<int64_t> x = values_of<int64_t>(in[0], ComputeType::kInt64);
         int64_t length = a.minlength;
         for (int64_t v : x) {
           check(v >= 0, ErrorKind::kValue, "bincount: values must not be negative or beyond 64 bits, got {}", v);
           check(v < kMostElements, ErrorKind::kMemory, "bincount: {} counts are too many for memory", v);
           length = std::max(length, v + 1);
         }
         check(length < kMostElements, ErrorKind::kMemory, "bincount: {} counts are too many for memory", length);
         std::vector<double> sums(static_cast<size_t>(length), 0);
         const std::vector<double> weights =
             in.size() > 1 ? values_of<double>(in[1], ComputeType::kFloat64) : std::vector<double>(x.size(), 1);
         for (size_t i = 0; i < x.size(); ++i) sums[static_cast<size_t>(x[i])] += weights[i];
         NDArray result = NDArray::from_host(sums.data(), {length}, DType::kFloat64, in[0].device());
         return {cast_to(result, in.size() > 1 ? in[1].dtype() : count_dtype(in[0].dtype()))};
       },
       .spelling =
           [](const BincountAttrs& a, size_t inputs) {
             return Spelling{"_npi_bincount", {{"minlength", a.minlength}, {"has_weights", inputs > 1}}};
           },
       .zero_gradient = true,
       .samples = {values({1, 1, 3}, DType::kInt64), Sample({values({1, 1, 3}, DType::kInt32), uniform({3})})}});
}

struct HistogramAttrs {
  std::optional<int64_t> bin_cnt = {};
  std::optional<Doubles> range = {};
  static constexpr auto kFields =
      fields(field(&HistogramAttrs::bin_cnt, "bin_cnt", "Number of equal bins; None: the edges are given."),
             field(&HistogramAttrs::range, "range", "Lower and upper end of the equal bins."));
};

std::vector<double> bin_edges(std::span<const NDArray> in, const HistogramAttrs& a, const std::vector<double>& x) {
  if (!a.bin_cnt) {
    check(in.size() == 2 && in[1].ndim() == 1 && in[1].size() >= 2, ErrorKind::kValue,
          "histogram: give bin_cnt, or an array of two or more bin edges");
    std::vector<double> edges = values_of<double>(in[1], ComputeType::kFloat64);
    check(std::is_sorted(edges.begin(), edges.end()), ErrorKind::kValue, "histogram: bin edges must not fall");
    return edges;
  }
  check(*a.bin_cnt > 0 && *a.bin_cnt <= INT32_MAX, ErrorKind::kValue,
        "histogram: the number of bins must be from 1 to {}, got {}", INT32_MAX, *a.bin_cnt);
  double low = 0, high = 1;
  if (a.range) {
    check(a.range->size() == 2, ErrorKind::kValue, "histogram: range must have two ends, got {}", a.range->size());
    low = (*a.range)[0];
    high = (*a.range)[1];
  } else if (!x.empty()) {
    low = *std::min_element(x.begin(), x.end());
    high = *std::max_element(x.begin(), x.end());
  }
  check(std::isfinite(low) && std::isfinite(high) && low <= high, ErrorKind::kValue,
        "histogram: the range [{}, {}] must be finite and not fall", low, high);
  if (low == high) low -= 0.5, high += 0.5;
  std::vector<double> edges(static_cast<size_t>(*a.bin_cnt) + 1);
  for (size_t i = 0; i < edges.size(); ++i)
    edges[i] = low + (high - low) * static_cast<double>(i) / static_cast<double>(*a.bin_cnt);
  edges.back() = high;  // where the sum above rounds past it
  return edges;
}

// That of the edges that are given; those of equal bins may be fractions.
DType dtype_of_edges(std::span<const DType> inputs) {
  if (inputs.size() > 1) return inputs[1];
  return is_floating(inputs[0]) ? inputs[0] : DType::kFloat32;
}

OpDef histogram() {
  return general<HistogramAttrs>(
      {.name = "_histogram",
       .aliases = {"_npi_histogram"},
       .doc = "How many elements fall into each bin, as int64, and the bin edges, in the dtype of those given. The "
              "last bin includes its upper edge. Waits for the arrays. Raises ValueError for edges that fall or a "
              "number of bins that is not positive.",
       .inputs = {"data", "bins"},
       .optional_inputs = 1,
       .outputs = 2,
       .result_dtype = [](std::span<const DType> inputs, const Attrs&,
                          size_t k) { return k == 0 ? DType::kInt64 : dtype_of_edges(inputs); },
       .compose = [](std::span<const NDArray> in, const HistogramAttrs& a) -> std::vector<NDArray> {
         const std::vector<double> x = values_of<double>(in[0], ComputeType::kFloat64);
         const std::vector<double> edges = bin_edges(in, a, x);
         std::vector<int64_t> counts(edges.size() - 1, 0);
         for (double v : x) {
           if (!(v >= edges.front() && v <= edges.back())) continue;
           const auto after = std::upper_bound(edges.begin(), edges.end(), v) - edges.begin();
           ++counts[static_cast<size_t>(std::min<int64_t>(after - 1, static_cast<int64_t>(counts.size()) - 1))];
         }
         const Device device = in[0].device();
         NDArray bounds =
             NDArray::from_host(edges.data(), {static_cast<int64_t>(edges.size())}, DType::kFloat64, device);
         std::vector<DType> dtypes;
         for (const NDArray& array : in) dtypes.push_back(array.dtype());
         return {int64_vector(counts, device), cast_to(bounds, dtype_of_edges(dtypes))};
       },
       .samples = {Sample({values({0.1, 0.5, 2.5})},
                          make_attrs(HistogramAttrs{.bin_cnt = 3, .range = Doubles{0, 3}}))}});
}

}  // namespace

Operators unique_operators() { return {unique(), bincount(), histogram()}; }

}  // namespace headrace
