#include "autograd/autograd.h"
#include "base/check.h"
#include "headrace/devices.hpp"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/trace.h"

namespace headrace {

NDArray copyto(const NDArray& array, Device device) {
  if (is_abstract(array)) return array;  // a traced graph runs on one device, whichever it is
  NDArray copy = copied_to(array, device);
  autograd::record_node({&array, 1}, {&copy, 1}, [from = array.device()](Gradient& g) {
    if (g.has_head(0)) g.set(0, as_in_context(g.head(0), from));
  });
  return copy;
}

void copyto(const NDArray& array, const NDArray& target) {
  check(array && target, ErrorKind::kType, "copyto: expected two arrays, got none for one of them");
  check(array.shape() == target.shape(), ErrorKind::kValue,
        "copyto: expected a target of the array's shape {}, got one of {}", to_string(array.shape()),
        to_string(target.shape()));
  copy_into(target.off_tape(), array.off_tape());
}

NDArray as_in_context(const NDArray& array, Device device) {
  return is_abstract(array) || array.device() == device ? array : copyto(array, device);
}

}  // namespace headrace
