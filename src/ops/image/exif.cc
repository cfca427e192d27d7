#include "ops/image/exif.h"

#include <algorithm>
#include <cstring>

namespace headrace::codec {
namespace {

// Numbers of a TIFF structure, in the order of bytes that it names itself; 0 beyond its end.
struct Tiff {
  Bytes bytes;
  bool is_big = false;

  uint32_t number(size_t at, size_t size) const noexcept {
    uint32_t value = 0;
    if (at > bytes.size() || size > bytes.size() - at) return 0;
    for (size_t i = 0; i < size; ++i) value |= uint32_t{bytes[at + i]} << 8 * (is_big ? size - 1 - i : i);
    return value;
  }
};

int orientation_in(Bytes bytes) noexcept {
  constexpr uint32_t kOrientationTag = 0x0112;
  if (bytes.size() < 8) return 1;
  const Tiff tiff{bytes, bytes[0] == 'M'};
  const size_t directory = tiff.number(4, 4), count = tiff.number(directory, 2);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry > bytes.size()) break;
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    const auto orientation = static_cast<int>(tiff.number(entry + 8, 2));
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
}

}  // namespace

int orientation_of(Bytes jpeg) noexcept {
  constexpr unsigned char kApp0 = 0xE0, kApp1 = 0xE1, kScan = 0xDA;
  for (size_t at = 2; at + 4 <= jpeg.size() && jpeg[at] == 0xFF;) {
    const unsigned char marker = jpeg[at + 1];
    const size_t size = size_t{jpeg[at + 2]} << 8 | jpeg[at + 3];
    if ((at == 2 && marker == kApp0) || marker == kScan || size < 2 || size > jpeg.size() - at - 2) return 1;
    const Bytes content = jpeg.subspan(at + 4, size - 2);
    if (marker == kApp1 && content.size() > 6 && std::memcmp(content.data(), "Exif\0", 6) == 0)
      return orientation_in(content.subspan(6));
    at += 2 + size;
  }
  return 1;
}

void turn(const unsigned char* from, int64_t height, int64_t width, int64_t channels, int orientation,
          unsigned char* to) noexcept {
  const bool swaps = orientation >= 5;
  const bool mirrors = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool upends = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int64_t out_height = swaps ? width : height, out_width = swaps ? height : width;
  for (int64_t y = 0; y < out_height; ++y)
    for (int64_t x = 0; x < out_width; ++x) {
      int64_t row = swaps ? x : y, column = swaps ? y : x;
      if (upends) row = height - 1 - row;
      if (mirrors) column = width - 1 - column;
      std::copy_n(from + (row * width + column) * channels, channels, to + (y * out_width + x) * channels);
    }
}

}  // namespace headrace::codec
