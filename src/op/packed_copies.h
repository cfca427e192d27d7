// Row-major copies of strided arrays, for the time of one kernel run. Belongs to one thread.
#pragma once

#include <forward_list>

#include "ndarray/view.h"
#include "op/kernel.h"
#include "op/op_def.h"

namespace headrace {

class PackedCopies {
 public:
  PackedCopies() = default;
  ~PackedCopies();
  PackedCopies(const PackedCopies&) = delete;
  PackedCopies& operator=(const PackedCopies&) = delete;

  // Valid as long as this object.
  Tensor pack(const View& view);

 private:
  struct Copy {
    ScratchBlock memory;
    Strides strides;
  };
  std::forward_list<Copy> copies_;  // stable addresses: tensors refer to the strides
};

}  // namespace headrace
