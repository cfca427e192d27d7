#include "ops/sparse/sparse_dot.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/dtype_dispatch.h"
#include "op/sparse_context.h"
#include "ops/linalg/dot.h"
#include "ops/sparse/row_products.h"

namespace headrace {
namespace {

using enum StorageKind;

// What products are summed up in.
template <class T>
using Sum =
    std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<std::is_same_v<T, double>, double, float>>;

constexpr double kNsPerProduct = 0.1;

double cost_of(const SparseParts& csr, int64_t n) { return kNsPerProduct * static_cast<double>(csr.count() * n); }

// The other factor, by rows: dense, or row_sparse, which has no row of zeros.
template <class T>
struct RowFactor {
  RowFactor(const SparseContext& c, size_t input) : width(row_size(c.input(input).shape())) {
    if (kind_of(c.input(input)) == kDense) {
      values = SparseContext::data<T>(c.input(input));
      return;
    }
    const SparseParts& parts = c.parts(input);
    values = parts.values_as<T>();
    if (parts.count() == c.input(input).shape()[0]) return;
    first = parts.index();
    last = first + parts.count();
  }
  // Null: all zero.
  const T* row(int64_t number) const {
    if (!first) return values + number * width;
    const int64_t* const found = std::lower_bound(first, last, number);
    return found != last && *found == number ? values + (found - first) * width : nullptr;
  }

  const T* values = nullptr;
  int64_t width;
  const int64_t *first = nullptr, *last = nullptr;  // the numbers of the rows, unless all are there
};

// to[r] = sum over the elements of row r of value * factor[column].
template <class T>
void rows_times_factor(const SparseParts& csr, const RowFactor<T>& factor, int64_t begin, int64_t end, T* to) {
  const int64_t n = factor.width;
  if constexpr (kHasRowProducts<T>)
    if (!factor.first)
      return row_products<T>().sums(csr.values_as<T>(), csr.index(), csr.row_begin() + begin, end - begin,
                                    factor.values, n, to + begin * n);
  std::vector<Sum<T>> sums(static_cast<size_t>(n));
  for (int64_t r = begin; r < end; ++r) {
    std::ranges::fill(sums, Sum<T>{});
    for (int64_t i = csr.row_begin()[r]; i < csr.row_begin()[r + 1]; ++i) {
      const T* const row = factor.row(csr.index()[i]);
      for (int64_t j = 0; row && j < n; ++j)
        sums[static_cast<size_t>(j)] += static_cast<Sum<T>>(csr.values_as<T>()[i]) * static_cast<Sum<T>>(row[j]);
    }
    for (int64_t j = 0; j < n; ++j) to[r * n + j] = static_cast<T>(sums[static_cast<size_t>(j)]);
  }
}

void csr_times_rows(SparseContext& c, const DotAttrs&) {
  const SparseParts& csr = c.parts(0);
  dispatch(c.output().dtype(), [&]<class T>() {
    const RowFactor<T> factor(c, 1);
    parallel_for(c.input(0).shape()[0], 1, cost_of(csr, factor.width), [&](int64_t begin, int64_t end) {
      rows_times_factor(csr, factor, begin, end, SparseContext::data<T>(c.output()));
    });
  });
}

// Adds value * factor[0 ... width - 1] to row places[i] of the sums, for each element i of row `number` of the csr
// matrix.
template <class T>
void add_products(const SparseParts& csr, const int64_t* places, int64_t number, const T* factor, int64_t width,
                  Sum<T>* sums) {
  const int64_t first = csr.row_begin()[number], last = csr.row_begin()[number + 1];
  const T* const values = csr.values_as<T>();
  if constexpr (kHasRowProducts<T>) {
    row_products<T>().scatter(values + first, places + first, last - first, factor, width, sums);
  } else {
    for (int64_t i = first; i < last; ++i)
      for (int64_t j = 0; j < width; ++j)
        sums[places[i] * width + j] += static_cast<Sum<T>>(values[i]) * static_cast<Sum<T>>(factor[j]);
  }
}

// The sums of add_products() over all rows, with the rows of the factor. Threads share the columns of the factor, so
// the order of the sums does not depend on how many there are.
template <class T>
void scatter_products(const SparseParts& csr, int64_t rows, const RowFactor<T>& factor, int64_t result_rows, T* to,
                      const int64_t* places) {
  const int64_t n = factor.width;
  parallel_for(n, 16, cost_of(csr, n), [&](int64_t begin, int64_t end) {
    const int64_t width = end - begin;
    std::vector<Sum<T>> sums(static_cast<size_t>(result_rows * width));
    for (int64_t r = 0; r < rows; ++r)
      if (const T* const row = factor.row(r)) add_products(csr, places, r, row + begin, width, sums.data());
    for (int64_t k = 0; k < result_rows; ++k)
      for (int64_t j = 0; j < width; ++j)
        to[k * n + begin + j] = static_cast<T>(sums[static_cast<size_t>(k * width + j)]);
  });
}

void transposed_csr_times_rows(SparseContext& c, const DotAttrs&) {
  const SparseParts& csr = c.parts(0);
  const View& to = c.output();
  dispatch(to.dtype(), [&]<class T>() {
    scatter_products(csr, c.input(0).shape()[0], RowFactor<T>(c, 1), to.shape()[0], SparseContext::data<T>(to),
                     csr.index());
  });
}

// The numbers that occur among `numbers`, which are below `limit`, in their order; each becomes its place among them.
std::vector<int64_t> make_places(std::vector<int64_t>& numbers, int64_t limit) {
  std::vector<int64_t> occurring;
  if (limit > 4 * static_cast<int64_t>(numbers.size())) {
    occurring = numbers;
    std::ranges::sort(occurring);
    occurring.erase(std::unique(occurring.begin(), occurring.end()), occurring.end());
    for (int64_t& number : numbers) number = std::ranges::lower_bound(occurring, number) - occurring.begin();
    return occurring;
  }
  std::vector<int64_t> places(static_cast<size_t>(limit), -1);
  for (const int64_t number : numbers) places[static_cast<size_t>(number)] = 0;
  for (int64_t number = 0; number < limit; ++number) {
    int64_t& place = places[static_cast<size_t>(number)];
    if (place < 0) continue;
    place = static_cast<int64_t>(occurring.size());
    occurring.push_back(number);
  }
  for (int64_t& number : numbers) number = places[static_cast<size_t>(number)];
  return occurring;
}

void transposed_csr_times_rows_by_rows(SparseContext& c, const DotAttrs&) {
  const SparseParts& csr = c.parts(0);
  std::vector<int64_t> places(csr.index(), csr.index() + csr.count());
  const std::vector<int64_t> columns = make_places(places, c.input(0).shape()[1]);
  SparseParts result = c.make(0, static_cast<int64_t>(columns.size()));
  std::ranges::copy(columns, result.index());
  dispatch(c.output().dtype(), [&]<class T>() {
    scatter_products(csr, c.input(0).shape()[0], RowFactor<T>(c, 1), result.count(), result.values_as<T>(),
                     places.data());
  });
  c.set(0, std::move(result));
}

int64_t dense_rows(SparseContext& c) {
  const int64_t k = c.input(1).shape()[0];
  return k == 0 ? 0 : c.input(0).size() / k;
}

// Of rows `begin` to `end` of dense x csr, each is handed to take(sums). So many are computed together, whose sums for
// one column stand side by side.
constexpr int64_t kRowsTogether = 16;

template <class T, class Take>
void dense_times_csr(SparseContext& c, int64_t begin, int64_t end, const Take& take) {
  const SparseParts& csr = c.parts(1);
  const int64_t k = c.input(1).shape()[0], n = c.input(1).shape()[1];
  const T* const dense = SparseContext::data<T>(c.input(0));
  std::vector<Sum<T>> sums(static_cast<size_t>(kRowsTogether * n)), row(static_cast<size_t>(n));
  for (int64_t first = begin; first < end; first += kRowsTogether) {
    const int64_t count = std::min(kRowsTogether, end - first);
    std::ranges::fill(sums, Sum<T>{});
    for (int64_t j = 0; j < k; ++j) {
      T factors[kRowsTogether];
      for (int64_t r = 0; r < count; ++r) factors[r] = dense[(first + r) * k + j];
      add_products(csr, csr.index(), j, factors, count, sums.data());
    }
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t j = 0; j < n; ++j) row[static_cast<size_t>(j)] = sums[static_cast<size_t>(j * count + r)];
      take(row);
    }
  }
}

void dense_times_csr_as_dense(SparseContext& c, const DotAttrs&) {
  dispatch(c.output().dtype(), [&]<class T>() {
    const int64_t rows = dense_rows(c), n = c.input(1).shape()[1];
    const double cost = kNsPerProduct * static_cast<double>(rows * c.parts(1).count()) + 1;
    T* const results = SparseContext::data<T>(c.output());
    if (rows == 0) std::fill_n(results, c.output().size(), T{});
    parallel_for(rows, kRowsTogether, cost, [&](int64_t begin, int64_t end) {
      T* to = results + begin * n;
      dense_times_csr<T>(c, begin, end, [&](const std::vector<Sum<T>>& sums) {
        for (Sum<T> sum : sums) *to++ = static_cast<T>(sum);
      });
    });
  });
}

void dense_times_csr_as_csr(SparseContext& c, const DotAttrs&) {
  dispatch(c.output().dtype(), [&]<class T>() {
    std::vector<int64_t> columns, row_end;
    std::vector<Sum<T>> values;
    dense_times_csr<T>(c, 0, dense_rows(c), [&](const std::vector<Sum<T>>& sums) {
      for (size_t j = 0; j < sums.size(); ++j) {
        if (sums[j] == Sum<T>{}) continue;
        columns.push_back(static_cast<int64_t>(j));
        values.push_back(sums[j]);
      }
      row_end.push_back(static_cast<int64_t>(columns.size()));
    });
    SparseParts result = c.make(0, static_cast<int64_t>(columns.size()));
    std::ranges::copy(columns, result.index());
    std::ranges::copy(row_end, result.row_begin() + 1);
    std::ranges::transform(values, result.values_as<T>(), [](Sum<T> value) { return static_cast<T>(value); });
    c.set(0, std::move(result));
  });
}

bool is_plain(const DotAttrs& a) { return !a.transpose_a && !a.transpose_b; }
bool is_transposed(const DotAttrs& a) { return a.transpose_a && !a.transpose_b; }
bool is_plain_and_dense(const DotAttrs& a) { return is_plain(a) && a.forward_stype == "default"; }
bool is_dense_wanted(const DotAttrs& a) { return is_transposed(a) && a.forward_stype == "default"; }

}  // namespace

std::vector<StorageForm> sparse_dot_forms() {
  return {{{kCsr, kDense}, {kDense}, csr_times_rows, is_plain},
          {{kCsr, kRowSparse}, {kDense}, csr_times_rows, is_plain},
          {{kCsr, kDense}, {kDense}, transposed_csr_times_rows, is_dense_wanted},
          {{kCsr, kDense}, {kRowSparse}, transposed_csr_times_rows_by_rows, is_transposed},
          {{kCsr, kRowSparse}, {kRowSparse}, transposed_csr_times_rows_by_rows, is_transposed},
          {{kCsr, kDense}, {kDense}, transposed_csr_times_rows, is_transposed},
          {{kDense, kCsr}, {kDense}, dense_times_csr_as_dense, is_plain_and_dense},
          {{kDense, kCsr}, {kCsr}, dense_times_csr_as_csr, is_plain},
          {{kDense, kCsr}, {kDense}, dense_times_csr_as_dense, is_plain}};
}

}  // namespace headrace
