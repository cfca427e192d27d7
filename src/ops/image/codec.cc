#include "ops/image/codec.h"

#include "base/check.h"
#include "ops/image/jpeg.h"
#include "ops/image/png.h"

namespace headrace::codec {
namespace {

constexpr int64_t kMostSide = int64_t{1} << 20, kMostPixels = int64_t{1} << 30;

}  // namespace

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
  return header;
}

void decode(Bytes file, Color color, unsigned char* pixels) {
  (is_jpeg(file) ? decode_jpeg : decode_png)(file, color, pixels);
}

}  // namespace headrace::codec
