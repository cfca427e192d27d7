#include "headrace/devices.hpp"
#include "op/invoke.h"
#include "op/trace.h"

namespace headrace {

NDArray copyto(const NDArray& array, Device device) {
  if (is_abstract(array)) return array;  // a traced graph runs on one device, whichever it is
  return call("_copyto", {array}, {{"ctx", to_string(device)}, {"source", to_string(array.device())}});
}

NDArray as_in_context(const NDArray& array, Device device) {
  return is_abstract(array) || array.device() == device ? array : copyto(array, device);
}

}  // namespace headrace
