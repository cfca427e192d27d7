// PNG files. See codec.h.
#pragma once

#include "ops/image/codec.h"

namespace headrace::codec {

bool is_png(Bytes file) noexcept;
Header read_png_header(Bytes file, Color color);
void decode_png(Bytes file, Color color, unsigned char* pixels);

}  // namespace headrace::codec
