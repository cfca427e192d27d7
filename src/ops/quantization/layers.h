// The parts of the family of quantized layers. Called once, when the catalogue is made.
#pragma once

#include <vector>

#include "op/op_def.h"

namespace headrace {

std::vector<OpDef> quantized_image_operators();
std::vector<OpDef> byte_layer_operators();

}  // namespace headrace
