// Reading of image files in memory: JPEG by libjpeg-turbo, PNG by libpng. Any thread may call anything.
#pragma once

#include <cstdint>
#include <span>

namespace headrace::codec {

using Bytes = std::span<const unsigned char>;

struct Header {
  int64_t height = 0, width = 0;  // as the image is to be seen: after the turn that the camera asks for
};

enum class Color : uint8_t { kGray, kRgb, kBgr };
constexpr int64_t channels_of(Color color) noexcept { return color == Color::kGray ? 1 : 3; }

// Raises Error(kRuntime) for what is no JPEG or PNG file, for a file that is damaged, or for an image of more than 2^30
// pixels or 2^20 of one side.
Header read_header(Bytes file);

// The pixels, row by row, colours of one pixel together, into height * width * channels bytes. Depths of 16 bits are
// cut to 8, transparency is left away. A JPEG is turned as its Exif orientation says, unless it begins as a JFIF file.
void decode(Bytes file, Color color, unsigned char* pixels);

}  // namespace headrace::codec
