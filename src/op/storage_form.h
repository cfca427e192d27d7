// How an operator computes on arrays that are not all dense, said in its entry. Where nothing is said, formulas that
// give zero for zeros work on what is stored, and all else on dense copies (op/invoke_stored.h).
#pragma once

#include <span>
#include <vector>

#include "headrace/storage_kind.hpp"
#include "op/attr_function.h"

namespace headrace {

class SparseContext;  // op/sparse_context.h

// What its inputs are stored as and what its outputs will be; no outputs: input 0, and what the operator mutates,
// change in place. The first that fits a call is taken; one kind for any number of arrays is that of all. All is on the
// host.
struct StorageForm {
  std::vector<StorageKind> inputs, outputs;
  AttrFunction<void(SparseContext&, const Attrs&)> kernel = {};
  AttrFunction<bool(const Attrs&)> when = {};  // none: whatever the attributes
};

}  // namespace headrace
