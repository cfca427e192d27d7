// Reading and writing of image files in memory: JPEG by libjpeg-turbo, PNG by libpng. Any thread may call anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::codec {

using Bytes = std::span<const unsigned char>;

// kStored: grey or blue, green, red, and alpha where the file has it, of 8 or 16 bits and not turned.
enum class Color : uint8_t { kGray, kRgb, kBgr, kStored };
constexpr int64_t channels_of(Color color) noexcept { return color == Color::kGray ? 1 : 3; }  // of kStored: the file's

// What decode gives for a file: height and width are those after the turn that the camera asks for.
struct Header {
  int64_t height = 0, width = 0, channels = 0;
  int bits = 8;
};

// Raises Error(kRuntime) for what is no JPEG or PNG file, for a file that is damaged, for an image of more than 2^30
// pixels or 2^20 of one side, or of more than the file can hold.
Header read_header(Bytes file, Color color = Color::kRgb);

// The pixels, row by row, colours of one pixel together, into height * width * channels bytes (kStored with 16 bits:
// twice as many, in the machine's order). Otherwise depths of 16 bits are cut to 8, and transparency is left away. A
// JPEG is turned as its Exif orientation says, unless it begins as a JFIF file.
void decode(Bytes file, Color color, unsigned char* pixels);

// Pixels to write: grey (1 channel), blue, green, red (3), or with alpha (4).
struct Picture {
  Bytes pixels;  // rows without gaps; elements of 16 bits in the machine's order
  int64_t height = 0, width = 0, channels = 0;
  int bits = 8;
};

// Refuses sizes and channels that no file of a kind ("JPEG") holds, with the most pixels that its library writes of one
// side.
void check_picture(const Picture& picture, const char* kind, int64_t most_side);

// A JPEG file of a picture of 8 bits; alpha is left away, colours have half the resolution. `quality`: 0 to 100, others
// are brought there. A PNG file; `level` of compression: 0 to 9, likewise. Both raise Error(kValue) for pictures that
// such files cannot hold.
std::vector<unsigned char> encode_jpeg(const Picture& picture, int64_t quality);
std::vector<unsigned char> encode_png(const Picture& picture, int64_t level);

}  // namespace headrace::codec
