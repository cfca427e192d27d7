// The parts of the family of quantized layers. Called once, when the catalogue is made.
#pragma once

#include <vector>

#include "op/op_def.h"

namespace headrace {

Operators quantized_image_operators();
Operators byte_layer_operators();
OpDef rounded_rows();

}  // namespace headrace
