#include "ops/image/png.h"

#include <bit>
#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "ops/image/png_errors.h"

namespace headrace::codec {
namespace {

// What libpng calls back with.
struct PngSource {
  Bytes file;
  size_t at = 0;
  std::string error;
};

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto& source = *static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source.file.size() - source.at) png_error(png, "the file ends early");
  std::memcpy(to, source.file.data() + source.at, count);
  source.at += count;
}

class Reader {
 public:
  explicit Reader(Bytes file) : source_{.file = file} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, note_png_error<PngSource>, ignore_png_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    check(info_ != nullptr, ErrorKind::kMemory, "there is no memory for reading a PNG file");
    png_set_read_fn(png_, &source_, read_bytes);
    png_set_user_limits(png_, 1 << 20, 1 << 20);
    png_set_chunk_malloc_max(png_, 1 << 26);
  }
  ~Reader() { png_destroy_read_struct(&png_, info_ ? &info_ : nullptr, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Header header(Color color) {
    if (!try_header()) fail_with_error();
    const bool is_stored = color == Color::kStored;
    return {static_cast<int64_t>(png_get_image_height(png_, info_)),
            static_cast<int64_t>(png_get_image_width(png_, info_)), is_stored ? stored_channels() : channels_of(color),
            is_stored && png_get_bit_depth(png_, info_) == 16 ? 16 : 8};
  }

  void pixels(Color color, unsigned char* to) {
    const Header size = header(color);
    const int64_t row_bytes = size.width * size.channels * size.bits / 8;
    std::vector<png_bytep> rows(static_cast<size_t>(size.height));
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = to + static_cast<int64_t>(y) * row_bytes;
    if (!try_pixels(color, size.channels, static_cast<size_t>(row_bytes), rows.data())) fail_with_error();
  }

 private:
  bool try_header() noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    return true;
  }

  bool has_colors() const { return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0; }

  // A transparent shade of grey does not count, as in OpenCV.
  int64_t stored_channels() const {
    if ((png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0) return 4;
    if (!has_colors()) return 1;
    return png_get_valid(png_, info_, PNG_INFO_tRNS) != 0 ? 4 : 3;
  }

  bool try_pixels(Color color, int64_t channels, size_t row_bytes, png_bytepp rows) noexcept {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);  // palettes, depths below 8, transparent colours
    if (color != Color::kStored) png_set_strip_16(png_);
    if (std::endian::native == std::endian::little) png_set_swap(png_);
    if (channels != 4) png_set_strip_alpha(png_);
    if (color == Color::kGray && has_colors()) png_set_rgb_to_gray(png_, 1, 0.299, 0.587);
    if (channels >= 3 && !has_colors()) png_set_gray_to_rgb(png_);
    if (channels >= 3 && color != Color::kRgb) png_set_bgr(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != row_bytes) png_error(png_, "its rows have another size than its header says");
    png_read_image(png_, rows);
    return true;
  }

  [[noreturn]] void fail_with_error() const {
    fail(ErrorKind::kRuntime, "imdecode: Decoding failed. Damaged PNG file: {}", source_.error);
  }

  PngSource source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

bool is_png(Bytes file) noexcept { return file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0; }

Header read_png_header(Bytes file, Color color) { return Reader(file).header(color); }

void decode_png(Bytes file, Color color, unsigned char* pixels) { Reader(file).pixels(color, pixels); }

}  // namespace headrace::codec
