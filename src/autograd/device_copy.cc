#include "autograd/autograd.h"
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

NDArray as_in_context(const NDArray& array, Device device) {
  return is_abstract(array) || array.device() == device ? array : copyto(array, device);
}

}  // namespace headrace
