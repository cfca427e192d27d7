#include "ops/sparse/sparse_take.h"

#include <algorithm>
#include <cstring>

#include "base/dtype_dispatch.h"
#include "op/sparse_context.h"
#include "ops/index/take.h"
#include "ops/sparse/dense_inputs.h"

namespace headrace {
namespace {

using enum StorageKind;

void take_matrix_rows(SparseContext& c, const TakeAttrs& a) {
  const SparseParts& from = c.parts(0);
  const std::vector<int64_t> rows = given_indices(c, 1, c.input(0).shape()[0], index_mode(a.mode));
  int64_t count = 0;
  for (int64_t row : rows) count += from.row_begin()[row + 1] - from.row_begin()[row];
  SparseParts taken = c.make(0, count);
  dispatch_size(c.output().dtype(), [&]<class T>() {
    int64_t at = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t begin = from.row_begin()[rows[i]], stored = from.row_begin()[rows[i] + 1] - begin;
      std::copy_n(from.values_as<T>() + begin, stored, taken.values_as<T>() + at);
      std::copy_n(from.index() + begin, stored, taken.index() + at);
      taken.row_begin()[i + 1] = at += stored;
    }
  });
  c.set(0, std::move(taken));
}

void take_table_rows(SparseContext& c, const Attrs&) {
  const SparseParts& table = c.parts(1);
  const View& to = c.output();
  const size_t row = static_cast<size_t>(row_size(c.input(1).shape())) * item_size(to.dtype());
  const int64_t* const first = table.index();
  const int64_t* const last = first + table.count();
  char* out = to.data();
  for (int64_t index : given_indices(c, 0, c.input(1).shape()[0], IndexMode::kRaiseNegative)) {
    const int64_t* const found = std::lower_bound(first, last, index);
    if (found != last && *found == index)
      std::memcpy(out, table.values_as<char>() + static_cast<size_t>(found - first) * row, row);
    else
      std::memset(out, 0, row);
    out += row;
  }
}

void gradient_by_rows(SparseContext& c, const BackwardTakeAttrs& a) {
  std::vector<int64_t> places = given_indices(c, 1, a.shape[0], IndexMode::kRaiseNegative);
  const std::vector<int64_t> rows = distinct(places);
  SparseParts result = c.make(0, static_cast<int64_t>(rows.size()));
  std::ranges::copy(rows, result.index());
  for (int64_t& place : places) place = std::ranges::lower_bound(rows, place) - rows.begin();
  if (!rows.empty())
    scatter_add_slices(tensor_of(c.input(0)), tensor_of(*result.values.view()), {1, result.count(), row_size(a.shape)},
                       places);
  c.set(0, std::move(result));
}

}  // namespace

std::vector<StorageForm> sparse_take_forms() {
  const auto can_take = [](const TakeAttrs& a) { return (a.axis == 0 || a.axis == -2) && a.mode != "raise"; };
  return {{{kCsr, kDense}, {kCsr}, take_matrix_rows, can_take}};
}

std::vector<StorageForm> sparse_embedding_forms() { return {{{kDense, kRowSparse}, {kDense}, take_table_rows}}; }

std::vector<StorageForm> sparse_take_back_forms() {
  const auto is_sparse = [](const BackwardTakeAttrs& a) { return a.sparse && a.axis == 0; };
  return {{{kDense, kDense}, {kRowSparse}, gradient_by_rows, is_sparse}};
}

}  // namespace headrace
