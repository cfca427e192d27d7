#include "ops/sparse/row_forms.h"

#include <algorithm>
#include <cstring>

#include "base/dtype_dispatch.h"
#include "op/call_body.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/sparse_context.h"
#include "ops/reduce/reduce.h"

namespace headrace {
namespace {

using enum StorageKind;

bool keeps_rows(const LegacyReduceAttrs& a) {
  return a.axis && !a.axis->empty() && !a.exclude && std::ranges::all_of(*a.axis, [](int64_t k) { return k > 0; });
}

// The operator on the stored rows.
NDArray reduce_stored(SparseContext& c, const Attrs& attrs) {
  Shape shape = c.output().shape();
  shape[0] = c.parts(0).count();
  const NDArray result = NDArray::empty(shape, c.output().dtype());
  View* const from = c.parts(0).values.view().get();
  View* const to = result.view().get();
  if (to->size() > 0) run_call(c.op(), attrs, {&from, 1}, {&to, 1}, c.ticket());
  return result;
}

void reduce_to_rows(SparseContext& c, const Attrs& attrs) {
  c.set(0, SparseParts{reduce_stored(c, attrs), c.parts(0).indices, {}});
}

void reduce_to_dense(SparseContext& c, const Attrs& attrs) {
  const NDArray reduced = reduce_stored(c, attrs);
  const View& to = c.output();
  const size_t row = static_cast<size_t>(row_size(to.shape())) * item_size(to.dtype());
  std::memset(to.data(), 0, static_cast<size_t>(to.size()) * item_size(to.dtype()));
  for (int64_t i = 0; i < c.parts(0).count(); ++i)
    std::memcpy(to.data() + static_cast<size_t>(c.parts(0).index()[i]) * row,
                reduced.view()->data() + static_cast<size_t>(i) * row, row);
}

// Adds value after value to sums; `place` says to which of the result.
template <class Place>
void sum_matrix(SparseContext& c, const Place& place) {
  const SparseParts& csr = c.parts(0);
  dispatch(c.output().dtype(), [&]<class T>() {
    std::vector<double> sums(static_cast<size_t>(c.output().size()));
    for (int64_t r = 0; r < c.input(0).shape()[0]; ++r)
      for (int64_t i = csr.row_begin()[r]; i < csr.row_begin()[r + 1]; ++i)
        sums[static_cast<size_t>(place(r, csr.index()[i]))] += static_cast<double>(csr.values_as<T>()[i]);
    std::ranges::transform(sums, SparseContext::data<T>(c.output()), [](double sum) { return static_cast<T>(sum); });
  });
}

void sum_columns(SparseContext& c, const LegacyReduceAttrs&) {
  sum_matrix(c, [](int64_t, int64_t column) { return column; });
}
void sum_rows(SparseContext& c, const LegacyReduceAttrs&) {
  sum_matrix(c, [](int64_t row, int64_t) { return row; });
}

void add_rows(SparseContext& c, const Attrs&) {
  std::vector<int64_t> rows;
  for (size_t i = 0; i < c.input_count(); ++i)
    rows.insert(rows.end(), c.parts(i).index(), c.parts(i).index() + c.parts(i).count());
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  SparseParts sum = c.make(0, static_cast<int64_t>(rows.size()));
  std::ranges::copy(rows, sum.index());
  const int64_t width = row_size(c.output().shape());
  dispatch(c.output().dtype(), [&]<class T>() {
    std::fill_n(sum.values_as<T>(), sum.values.size(), T{});
    for (size_t i = 0; i < c.input_count(); ++i)
      for (int64_t k = 0; k < c.parts(i).count(); ++k) {
        const auto place = std::ranges::lower_bound(rows, c.parts(i).index()[k]) - rows.begin();
        T* const to = sum.values_as<T>() + place * width;
        const T* const from = c.parts(i).values_as<T>() + k * width;
        for (int64_t j = 0; j < width; ++j) to[j] = static_cast<T>(to[j] + from[j]);
      }
  });
  c.set(0, std::move(sum));
}

// --- _scale_rows -----------------------------------------------------------------------------------------------------

void infer_scale(Infer& i, const NoAttrs&) {
  i.require(!i.shape(0).empty() && i.size(1) == i.shape(0)[0] && i.dtype(1) == i.dtype(0), ErrorKind::kValue,
            "a factor of {} for each row of shape {} is needed, got {} of shape {}", dtype_name(i.dtype(0)),
            to_string(i.shape(0)), dtype_name(i.dtype(1)), to_string(i.shape(1)));
  i.output(i.shape(0), i.dtype(0));
}

template <class T>
void scale(const T* from, T factor, int64_t count, T* to) {
  for (int64_t k = 0; k < count; ++k)
    to[k] = static_cast<T>(static_cast<double>(from[k]) * static_cast<double>(factor));
}

void scale_dense(KernelContext& c, const NoAttrs&) {
  const Tensor &data = c.input(0), &factors = c.input(1), &to = c.output(0);
  const int64_t width = row_size(data.shape);
  dispatch(data.dtype, [&]<class T>() {
    for (int64_t r = 0; r < data.shape[0]; ++r)
      scale(data.as<T>() + r * width, factors.as<T>()[r], width, to.as<T>() + r * width);
  });
}

// The factors of the stored rows; null: zero.
template <class T>
const T* factor_of(const SparseContext& c, int64_t row) {
  if (kind_of(c.input(1)) == kDense) return SparseContext::data<T>(c.input(1)) + row;
  const SparseParts& factors = c.parts(1);
  const int64_t* const first = factors.index();
  const int64_t* const last = first + factors.count();
  const int64_t* const found = std::lower_bound(first, last, row);
  return found != last && *found == row ? factors.values_as<T>() + (found - first) : nullptr;
}

void scale_stored(SparseContext& c, const NoAttrs&) {
  const SparseParts& data = c.parts(0);
  const int64_t width = row_size(c.output().shape());
  SparseParts result{NDArray::empty(data.values.shape(), c.output().dtype()), data.indices, {}};
  dispatch(c.output().dtype(), [&]<class T>() {
    for (int64_t i = 0; i < data.count(); ++i) {
      const T* const factor = factor_of<T>(c, data.index()[i]);
      scale(data.values_as<T>() + i * width, factor ? *factor : T{}, width, result.values_as<T>() + i * width);
    }
  });
  c.set(0, std::move(result));
}

}  // namespace

std::vector<StorageForm> reduced_row_forms() {
  const auto keeps = [](const LegacyReduceAttrs& a) { return keeps_rows(a) && a.keepdims; };
  const auto drops = [](const LegacyReduceAttrs& a) { return keeps_rows(a) && !a.keepdims; };
  return {{{kRowSparse}, {kRowSparse}, reduce_to_rows, keeps}, {{kRowSparse}, {kDense}, reduce_to_dense, drops}};
}

std::vector<StorageForm> summed_matrix_forms() {
  const auto along = [](int64_t axis) {
    return [axis](const LegacyReduceAttrs& a) {
      return a.axis && a.axis->size() == 1 && !a.exclude && (a.axis->front() == axis || a.axis->front() == axis - 2);
    };
  };
  return {{{kCsr}, {kDense}, sum_columns, along(0)}, {{kCsr}, {kDense}, sum_rows, along(1)}};
}

std::vector<StorageForm> added_row_forms() { return {{{kRowSparse}, {kRowSparse}, add_rows}}; }

void reduce_all_rows(SparseContext& c, const Attrs& attrs) {
  View* const from = c.parts(0).values.view().get();
  const View& to = c.output();
  const ViewPtr own(new View(to.storage_ptr(), to.dtype(), to.shape(), to.strides(), to.offset()));
  View* const result = own.get();
  run_call(c.op(), attrs, {&from, 1}, {&result, 1}, c.ticket());
}

Operators row_scale_operators() {
  return {general<NoAttrs>({.name = "_scale_rows",
                            .doc = "data * factors, one factor for each row. Raises ValueError for another number of "
                                   "factors.",
                            .inputs = {"data", "factors"},
                            .infer = infer_scale,
                            .kernel = scale_dense,
                            .storage_forms = {{{kRowSparse, kDense}, {kRowSparse}, scale_stored},
                                              {{kRowSparse, kRowSparse}, {kRowSparse}, scale_stored}},
                            .samples = {std::vector{uniform({3, 2}), uniform({3, 1})}}})};
}

}  // namespace headrace
