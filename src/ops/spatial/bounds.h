// What rules ask of single numbers among the attributes.
#pragma once

#include "base/check.h"
#include "op/attrs.h"

namespace headrace {

// Raises ValueError for a number outside [least, 2^31).
inline void require_from(const char* name, const char* what, int64_t number, int64_t least) {
  check(number >= least && number < int64_t{1} << 31, ErrorKind::kValue, "{}: {} must be from {} to 2^31 - 1, got {}",
        name, what, least, number);
}

}  // namespace headrace
