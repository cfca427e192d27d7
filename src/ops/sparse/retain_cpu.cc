// Operators on chosen rows and columns of sparse arrays.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/dtype_dispatch.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/sparse_context.h"
#include "ops/sparse/dense_inputs.h"
#include "ops/sparse/sparse_slice.h"

namespace headrace {
namespace {

using enum StorageKind;

void retain_rows(SparseContext& c, const NoAttrs&) {
  const std::vector<int64_t> rows = distinct(given_indices(c, 1, c.output().shape()[0], IndexMode::kRaiseNegative));
  const SparseParts& from = c.parts(0);
  const int64_t* const first = from.index();
  const int64_t* const last = first + from.count();
  SparseParts kept = c.make(0, static_cast<int64_t>(rows.size()));
  std::ranges::copy(rows, kept.index());
  const size_t row = static_cast<size_t>(row_size(c.output().shape())) * item_size(c.output().dtype());
  char* to = kept.values_as<char>();
  for (int64_t number : rows) {
    const int64_t* const found = std::lower_bound(first, last, number);
    if (found != last && *found == number)
      std::memcpy(to, from.values_as<char>() + static_cast<size_t>(found - first) * row, row);
    else
      std::memset(to, 0, row);
    to += row;
  }
  c.set(0, std::move(kept));
}

void retain_dense(KernelContext& c, const NoAttrs&) {
  const Tensor &data = c.input(0), &to = c.output(0);
  const size_t row = static_cast<size_t>(row_size(data.shape)) * item_size(data.dtype);
  std::memset(to.data, 0, static_cast<size_t>(data.size) * item_size(data.dtype));
  for (int64_t r : distinct(read_indices(c.name(), c.input(1), data.shape[0], IndexMode::kRaiseNegative, 0)))
    std::memcpy(to.as<char>() + static_cast<size_t>(r) * row, data.as<char>() + static_cast<size_t>(r) * row, row);
}

}  // namespace

Operators retain_operators() {
  return {general(
      {.name = "_sparse_retain",
       .python = {"nd.sparse_retain"},
       .doc = R"(The rows of a row_sparse array whose numbers are in indices, those of zeros too; all others are zero.

Raises ValueError unless data has an axis and indices have one; IndexError, when the result is read, where one is not the
number of a row.)",
       .inputs = {"data", "indices"},
       .infer =
           [](Infer& i, const NoAttrs&) {
             i.require(!i.shape(0).empty() && i.shape(1).size() == 1, ErrorKind::kValue,
                       "expected data of at least one axis and indices of one, got shapes {} and {}",
                       to_string(i.shape(0)), to_string(i.shape(1)));
             i.output(i.shape(0), i.dtype(0));
           },
       .kernel = retain_dense,
       .storage_forms = {{{kRowSparse, kDense}, {kRowSparse}, retain_rows}},
       .gradient =
           [](Gradient& g, const NoAttrs&) {
             g.set(0, call(g.op(), g.attrs(), {g.head(), g.input(1)}));
           },
       .saves_inputs = 0b10,
       .samples = {std::vector{uniform({4, 2}), values({3, 1}, DType::kInt64)}}})};
}

void slice_csr(SparseContext& c, const SliceRange& rows, const SliceRange& columns) {
  const SparseParts& from = c.parts(0);
  std::vector<int64_t> positions, row_begin{0};
  for (int64_t r = rows.begin; r < rows.begin + rows.count; ++r) {
    for (int64_t i = from.row_begin()[r]; i < from.row_begin()[r + 1]; ++i)
      if (from.index()[i] >= columns.begin && from.index()[i] < columns.begin + columns.count) positions.push_back(i);
    row_begin.push_back(static_cast<int64_t>(positions.size()));
  }
  SparseParts kept = c.make(0, static_cast<int64_t>(positions.size()));
  std::ranges::copy(row_begin, kept.row_begin());
  dispatch_size(c.output().dtype(), [&]<class T>() {
    for (size_t i = 0; i < positions.size(); ++i) {
      kept.index()[i] = from.index()[positions[i]] - columns.begin;
      kept.values_as<T>()[i] = from.values_as<T>()[positions[i]];
    }
  });
  c.set(0, std::move(kept));
}

}  // namespace headrace
