#include "ops/image/codec.h"

#include "base/check.h"
#include "ops/image/jpeg.h"
#include "ops/image/png.h"

namespace headrace::codec {
namespace {

constexpr int64_t kMostSide = int64_t{1} << 20, kMostPixels = int64_t{1} << 30;
// Of an image whose every pixel is alike: a bit of a JPEG file stands for a block of 8 x 8 at least, and a byte that
// PNG's compression leaves for 1,032 bytes, of 8 pixels at most.
constexpr int64_t kJpegPixelsPerByte = 1 << 10, kPngPixelsPerByte = 1 << 14;

}  // namespace

void check_picture(const Picture& picture, const char* kind, int64_t most_side) {
  check(picture.height > 0 && picture.width > 0 && picture.height <= most_side && picture.width <= most_side,
        ErrorKind::kValue, "encode: the sides of a {} image have 1 to {} pixels, got {} rows and {} columns", kind,
        most_side, picture.height, picture.width);
  check(picture.channels == 1 || picture.channels == 3 || picture.channels == 4, ErrorKind::kValue,
        "encode: a {} image has 1, 3 or 4 channels, got {}", kind, picture.channels);
}

Header read_header(Bytes file, Color color) {
  check(!file.empty(), ErrorKind::kRuntime, "imdecode: Decoding failed. The file is empty");
  check(is_jpeg(file) || is_png(file), ErrorKind::kRuntime,
        "imdecode: Decoding failed. Invalid image file: expected a JPEG or PNG file, got {} bytes that begin otherwise",
        file.size());
  const Header header = is_jpeg(file) ? read_jpeg_header(file, color) : read_png_header(file, color);
  check(header.height > 0 && header.width > 0 && header.height <= kMostSide && header.width <= kMostSide &&
            header.height * header.width <= kMostPixels,
        ErrorKind::kRuntime, "imdecode: Decoding failed. An image of {} x {} pixels is too large", header.width,
        header.height);
  const int64_t held = static_cast<int64_t>(file.size()) * (is_jpeg(file) ? kJpegPixelsPerByte : kPngPixelsPerByte);
  check(header.height * header.width <= held, ErrorKind::kRuntime,
        "imdecode: Decoding failed. {} bytes cannot hold {} x {} pixels, which the header says", file.size(),
        header.width, header.height);
  return header;
}

void decode(Bytes file, Color color, unsigned char* pixels) {
  (is_jpeg(file) ? decode_jpeg : decode_png)(file, color, pixels);
}

}  // namespace headrace::codec
