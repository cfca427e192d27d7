// JPEG files. See codec.h.
#pragma once

#include "ops/image/codec.h"

namespace headrace::codec {

bool is_jpeg(Bytes file) noexcept;
Header read_jpeg_header(Bytes file, Color color);
void decode_jpeg(Bytes file, Color color, unsigned char* pixels);

}  // namespace headrace::codec
