#include <algorithm>
#include <bit>
#include <csetjmp>
#include <new>
#include <string>

#include "base/check.h"
#include "ops/image/codec.h"
#include "ops/image/png_errors.h"

namespace headrace::codec {
namespace {

constexpr int64_t kMostPngSide = 1'000'000;  // libpng's

// What libpng calls back with.
struct Target {
  std::vector<unsigned char> file;
  std::string error;
};

bool try_append(Target& target, png_bytep bytes, size_t count) noexcept {
  try {
    target.file.insert(target.file.end(), bytes, bytes + count);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void write_bytes(png_structp png, png_bytep bytes, size_t count) {
  if (!try_append(*static_cast<Target*>(png_get_io_ptr(png)), bytes, count))
    png_error(png, "there is no memory for it");
}

void flush_nothing(png_structp) {}

int color_type_of(int64_t channels) {
  return channels == 1 ? PNG_COLOR_TYPE_GRAY : channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA;
}

class Writer {
 public:
  Writer() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &target_, note_png_error<Target>, ignore_png_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    check(info_ != nullptr, ErrorKind::kMemory, "there is no memory for writing a PNG file");
    png_set_write_fn(png_, &target_, write_bytes, flush_nothing);
  }
  ~Writer() { png_destroy_write_struct(&png_, info_ ? &info_ : nullptr); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::vector<unsigned char> file_of(const Picture& picture, int level) {
    check(try_write(picture, level), ErrorKind::kRuntime, "encode: the PNG file cannot be written: {}", target_.error);
    return std::move(target_.file);
  }

 private:
  bool try_write(const Picture& picture, int level) noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_compression_level(png_, level);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height),
                 picture.bits, color_type_of(picture.channels), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    if (picture.channels >= 3) png_set_bgr(png_);
    if (picture.bits == 16 && std::endian::native == std::endian::little) png_set_swap(png_);
    const int64_t row_bytes = picture.width * picture.channels * picture.bits / 8;
    for (int64_t y = 0; y < picture.height; ++y) png_write_row(png_, picture.pixels.data() + y * row_bytes);
    png_write_end(png_, info_);
    return true;
  }

  Target target_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

std::vector<unsigned char> encode_png(const Picture& picture, int64_t level) {
  check_picture(picture, "PNG", kMostPngSide);
  check(picture.bits == 8 || picture.bits == 16, ErrorKind::kValue,
        "encode: a PNG image has 8 or 16 bits per channel, got {}", picture.bits);
  return Writer().file_of(picture, static_cast<int>(std::clamp<int64_t>(level, 0, 9)));
}

}  // namespace headrace::codec
