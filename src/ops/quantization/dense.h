// What the dense layers on bytes share. Any thread.
#pragma once

#include <utility>

#include "op/op_def.h"

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

}  // namespace headrace
