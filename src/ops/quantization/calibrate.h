// The operator that chooses a range by a histogram.
#pragma once

#include "op/op_def.h"

namespace headrace {

OpDef calibrate_entropy();

}  // namespace headrace
