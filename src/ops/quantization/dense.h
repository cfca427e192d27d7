// What the dense layers on bytes share. Any thread.
#pragma once

#include <utility>

#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {

struct DenseAttrs {
  int64_t num_hidden = 0;
  bool no_bias = false, flatten = true;
  static constexpr auto kFields =
      fields(field(&DenseAttrs::num_hidden, "num_hidden", "Number of outputs per row.").required().between(1, kMostInt),
             field(&DenseAttrs::no_bias, "no_bias", "Whether there is no bias."),
             field(&DenseAttrs::flatten, "flatten",
                   "Whether all axes of data but the first are one; otherwise the last axis alone is transformed."));
};

// Rows and their length, of data that a dense layer gets.
inline std::pair<int64_t, int64_t> matrix_of(const Shape& data, bool flatten) {
  int64_t rows = 1, columns = 1;
  for (size_t k = 0; k < data.size(); ++k) ((k == 0 || (!flatten && k + 1 < data.size())) ? rows : columns) *= data[k];
  return {rows, columns};
}

// For graphs: data and results have the same rows.
inline void complete_rows(Completion& c, const DenseAttrs& a) {
  if (!c.has_rank(0) || c.shape(0).empty()) return;
  const size_t ndim = c.shape(0).size(), rows = a.flatten ? 1 : ndim - 1;
  Shape data(ndim, -1), result(rows + 1, -1);
  for (size_t k = 0; k < rows; ++k) result[k] = c.shape(0)[k];
  result[rows] = a.num_hidden;
  c.set_output(0, result);
  if (!c.has_output_rank()) return;
  for (size_t k = 0; k < rows; ++k) data[k] = c.output()[k];
  c.set(0, data);
}

}  // namespace headrace
