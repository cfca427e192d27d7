// How a camera was held when it took a picture.
#pragma once

#include "ops/image/codec.h"

namespace headrace::codec {

// The Exif orientation of a JPEG file, from 1 to 8; 1, as it lies, where nothing is said or the file begins with a JFIF
// header. From 5 on rows and columns change places.
int orientation_of(Bytes jpeg) noexcept;

// Pixels of a picture that lies as `orientation` says, (height, width) as stored, to those of the upright one.
void turn(const unsigned char* from, int64_t height, int64_t width, int64_t channels, int orientation,
          unsigned char* to) noexcept;

}  // namespace headrace::codec
