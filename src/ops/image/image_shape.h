// What operators on images expect of an array.
#pragma once

#include "base/check.h"
#include "headrace/shape.hpp"

namespace headrace {

// (height, width, channels) with 1 or 3 channels, or a batch of such images.
inline void check_image(const char* name, const Shape& shape) {
  const size_t ndim = shape.size();
  check((ndim == 3 || ndim == 4) && (shape[ndim - 1] == 1 || shape[ndim - 1] == 3), ErrorKind::kRuntime,
        "{}: expected (height, width, channels) with 1 or 3 channels, or a batch of such images, got shape {}", name,
        to_string(shape));
}

}  // namespace headrace
