#include "ops/image/jpeg.h"

#include <vector>

#include "base/check.h"
#include "ops/image/exif.h"
#include "ops/image/jpeg_handle.h"

namespace headrace::codec {
namespace {

// The image as it is stored.
struct Stored {
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
};

JpegHandle make_handle() {
  JpegHandle handle(tjInitDecompress());
  check(handle != nullptr, ErrorKind::kMemory, "there is no memory for reading a JPEG file");
  return handle;
}

[[noreturn]] void fail_with_error(const JpegHandle& handle) {
  fail(ErrorKind::kRuntime, "imdecode: Decoding failed. Damaged JPEG file: {}", tjGetErrorStr2(handle.get()));
}

Stored stored_of(const JpegHandle& handle, Bytes file) {
  Stored stored;
  if (tjDecompressHeader3(handle.get(), file.data(), file.size(), &stored.width, &stored.height, &stored.subsampling,
                          &stored.colorspace) != 0)
    fail_with_error(handle);
  return stored;
}

Color resolved(Color color, const Stored& stored) {
  if (color != Color::kStored) return color;
  return stored.colorspace == TJCS_GRAY ? Color::kGray : Color::kBgr;
}

int turn_of(Bytes file, Color color) { return color == Color::kStored ? 1 : orientation_of(file); }

void read_pixels(const JpegHandle& handle, Bytes file, const Stored& stored, TJPF format, unsigned char* pixels) {
  // A warning, of a file that ends early for example, leaves an image that can be used, as other readers do.
  if (tjDecompress2(handle.get(), file.data(), file.size(), pixels, stored.width, 0, stored.height, format,
                    TJFLAG_LIMITSCANS) != 0 &&
      tjGetErrorCode(handle.get()) != TJERR_WARNING)
    fail_with_error(handle);
}

// Four colours of ink, stored inverted as Adobe does, to light.
void from_inks(const std::vector<unsigned char>& inks, Color color, unsigned char* pixels) {
  const auto channels = static_cast<size_t>(channels_of(color));
  for (size_t i = 0; i < inks.size() / 4; ++i) {
    const int key = inks[4 * i + 3];
    int light[3];
    for (size_t k = 0; k < 3; ++k) light[k] = key - ((255 - inks[4 * i + k]) * key >> 8);
    if (color == Color::kGray) {
      pixels[i] = static_cast<unsigned char>((light[0] * 4899 + light[1] * 9617 + light[2] * 1868 + 8192) >> 14);
      continue;
    }
    for (size_t k = 0; k < 3; ++k)
      pixels[i * channels + k] = static_cast<unsigned char>(light[color == Color::kRgb ? k : 2 - k]);
  }
}

}  // namespace

bool is_jpeg(Bytes file) noexcept { return file.size() >= 3 && file[0] == 0xFF && file[1] == 0xD8 && file[2] == 0xFF; }

Header read_jpeg_header(Bytes file, Color color) {
  const Stored stored = stored_of(make_handle(), file);
  const int64_t channels = channels_of(resolved(color, stored));
  if (turn_of(file, color) >= 5) return {stored.width, stored.height, channels};
  return {stored.height, stored.width, channels};
}

void decode_jpeg(Bytes file, Color asked, unsigned char* pixels) {
  const JpegHandle handle = make_handle();
  const Stored stored = stored_of(handle, file);
  const Color color = resolved(asked, stored);
  const int orientation = turn_of(file, asked);
  const auto count = static_cast<size_t>(stored.width) * static_cast<size_t>(stored.height);
  std::vector<unsigned char> turned(orientation == 1 ? 0 : count * static_cast<size_t>(channels_of(color)));
  unsigned char* const to = orientation == 1 ? pixels : turned.data();
  if (stored.colorspace == TJCS_CMYK || stored.colorspace == TJCS_YCCK) {
    std::vector<unsigned char> inks(4 * count);
    read_pixels(handle, file, stored, TJPF_CMYK, inks.data());
    from_inks(inks, color, to);
  } else {
    read_pixels(handle, file, stored,
                color == Color::kGray  ? TJPF_GRAY
                : color == Color::kRgb ? TJPF_RGB
                                       : TJPF_BGR,
                to);
  }
  if (orientation != 1) turn(to, stored.height, stored.width, channels_of(color), orientation, pixels);
}

}  // namespace headrace::codec
