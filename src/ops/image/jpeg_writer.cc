#include <algorithm>
#include <memory>

#include "base/check.h"
#include "ops/image/codec.h"
#include "ops/image/jpeg_handle.h"

namespace headrace::codec {
namespace {

constexpr int64_t kMostJpegSide = 65500;  // libjpeg's

struct Free {
  void operator()(unsigned char* bytes) const noexcept { tjFree(bytes); }
};

}  // namespace

std::vector<unsigned char> encode_jpeg(const Picture& picture, int64_t quality) {
  check_picture(picture, "JPEG", kMostJpegSide);
  check(picture.bits == 8, ErrorKind::kValue, "encode: a JPEG image has 8 bits per channel, got {}", picture.bits);
  const JpegHandle handle(tjInitCompress());
  check(handle != nullptr, ErrorKind::kMemory, "there is no memory for writing a JPEG file");
  const bool is_gray = picture.channels == 1;
  const TJPF format = is_gray ? TJPF_GRAY : picture.channels == 3 ? TJPF_BGR : TJPF_BGRX;
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): turbojpeg's type
  const int result =
      tjCompress2(handle.get(), picture.pixels.data(), static_cast<int>(picture.width), 0,
                  static_cast<int>(picture.height), format, &bytes, &size, is_gray ? TJSAMP_GRAY : TJSAMP_420,
                  static_cast<int>(std::clamp<int64_t>(quality, 1, 100)), TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, Free> owned(bytes);
  check(result == 0, ErrorKind::kRuntime, "encode: the JPEG file cannot be written: {}", tjGetErrorStr2(handle.get()));
  return {bytes, bytes + size};
}

}  // namespace headrace::codec
