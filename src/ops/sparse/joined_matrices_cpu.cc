#include "ops/sparse/joined_matrices.h"

#include <algorithm>
#include <cstring>

namespace headrace {

void join_csr_rows(SparseContext& c) {
  int64_t count = 0;
  for (size_t k = 0; k < c.input_count(); ++k) count += c.parts(k).count();
  SparseParts joined = c.make(0, count);
  const size_t bytes = item_size(c.output().dtype());
  int64_t* row_end = joined.row_begin() + 1;
  int64_t stored = 0;
  for (size_t k = 0; k < c.input_count(); ++k) {
    const SparseParts& part = c.parts(k);
    const auto size = static_cast<size_t>(part.count());
    std::memcpy(joined.values.view()->data() + static_cast<size_t>(stored) * bytes, part.values.view()->data(),
                size * bytes);
    std::copy_n(part.index(), part.count(), joined.index() + stored);
    const int64_t* const first = part.row_begin();
    row_end = std::transform(first + 1, first + 1 + c.input(k).shape()[0], row_end,
                             [&](int64_t end) { return stored + end; });
    stored += part.count();
  }
  c.set(0, std::move(joined));
}

}  // namespace headrace
