// Updates by a gradient that stores some rows alone: what they share. An update takes (weight, gradient, states ...);
// the weight and its states are changed in place, whether dense or row_sparse.
#pragma once

#include <vector>

#include "op/storage_form.h"

namespace headrace {

// Where rows without a gradient stay as they are. Elsewhere they are updated as those whose gradient is zero.
enum class LazyWhere : uint8_t {
  kNowhere,
  kAllSparse,  // the weight and its states are row_sparse
  kAlike,      // the states are stored as the weight is
};

// The forms of an update with this many arrays. `is_lazy`: whether the attributes allow it; none: all do. Memory grows
// with the rows that are stored; a row_sparse weight or state gets all rows.
std::vector<StorageForm> row_update_forms(size_t inputs, LazyWhere where = LazyWhere::kNowhere,
                                          AttrFunction<bool(const Attrs&)> is_lazy = {});

}  // namespace headrace
