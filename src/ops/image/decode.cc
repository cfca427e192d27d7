// Files of images, and arrays of their bytes, become arrays of pixels.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "ops/image/codec.h"

namespace headrace {
namespace {

struct DecodeAttrs {
  int64_t flag = 1;
  bool to_rgb = true;
  static constexpr auto kFields =
      fields(field(&DecodeAttrs::flag, "flag", "0: grey; otherwise three channels.").between(0, kMostInt),
             field(&DecodeAttrs::to_rgb, "to_rgb", "Channels are red, green, blue; otherwise blue, green, red."));
};

struct ReadAttrs {
  std::string filename;
  int64_t flag = 1;
  bool to_rgb = true;
  static constexpr auto kFields = fields(field(&ReadAttrs::filename, "filename", "The file.").required(),
                                         field(&ReadAttrs::flag, "flag", "As of _cvimdecode.").between(0, kMostInt),
                                         field(&ReadAttrs::to_rgb, "to_rgb", "As of _cvimdecode."));
};

struct PixelsAttrs {
  int64_t height = 0, width = 0, flag = 1;
  bool to_rgb = true;
  static constexpr auto kFields = fields(field(&PixelsAttrs::height, "height", "Rows, as the file says.").required(),
                                         field(&PixelsAttrs::width, "width", "Columns, as the file says.").required(),
                                         field(&PixelsAttrs::flag, "flag", "As of _cvimdecode."),
                                         field(&PixelsAttrs::to_rgb, "to_rgb", "As of _cvimdecode."));
};

codec::Color color_of(int64_t flag, bool to_rgb) {
  return flag == 0 ? codec::Color::kGray : to_rgb ? codec::Color::kRgb : codec::Color::kBgr;
}

codec::Bytes bytes_of(const Tensor& tensor) {
  return {tensor.as<const unsigned char>(), static_cast<size_t>(tensor.size)};
}

// The pixels of a file whose size is known, so that they can be read whenever somebody has time.
OpDef decode_pixels() {
  using A = PixelsAttrs;
  return general<A>({.name = "_decode_image",
                     .doc = "The pixels of an image file, uint8 of shape (height, width, channels).",
                     .infer =
                         [](Infer& i, const A& a) {
                           constexpr double kNsPerPixel = 8;
                           const Shape shape{a.height, a.width, codec::channels_of(color_of(a.flag, a.to_rgb))};
                           i.require(i.dtype(0) == DType::kUint8, ErrorKind::kType,
                                     "the bytes of a file are uint8, got {}", dtype_name(i.dtype(0)));
                           i.cost(20e3 + kNsPerPixel * static_cast<double>(element_count(shape)));
                           i.output(shape, DType::kUint8);
                         },
                     .kernel =
                         [](KernelContext& c, const A& a) {
                           const codec::Bytes file = bytes_of(c.input(0));
                           const codec::Header header = codec::read_header(file);
                           check(header.height == a.height && header.width == a.width, ErrorKind::kRuntime,
                                 "{}: the file holds {} x {} pixels, not {} x {}", c.name(), header.width,
                                 header.height, a.width, a.height);
                           codec::decode(file, color_of(a.flag, a.to_rgb), c.output(0).as<unsigned char>());
                         },
                     .zero_gradient = true,
                     .unsampled = "its input is a file; tests/python/test_image.py"});
}

// Reads the header; the pixels follow when a thread has time.
NDArray decoded(const NDArray& file, codec::Bytes bytes, int64_t flag, bool to_rgb) {
  check(flag >= 0, ErrorKind::kValue, "imdecode: flag must be 0 (grey) or positive (colours), got {}", flag);
  const codec::Header header = codec::read_header(bytes);
  return call("_decode_image", {file},
              {{"height", header.height}, {"width", header.width}, {"flag", flag}, {"to_rgb", to_rgb}});
}

OpDef imdecode() {
  using A = DecodeAttrs;
  return general<A>(
      {.name = "_cvimdecode",
       .aliases = {"_npi_cvimdecode"},
       .python = {"nd._internal._cvimdecode"},
       .doc = "A JPEG or PNG file, as a vector of uint8, decoded to uint8 of shape (height, width, 3), or "
              "(height, width, 1) with flag=0. Waits for the file and reads its header; the pixels follow "
              "asynchronously. Raises MXNetError for other files, TypeError for other dtypes; where the pixels are "
              "damaged, when they are read.",
       .inputs = {"buf"},
       .result_dtype = result_dtypes::always(DType::kUint8),
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         const NDArray& file = in[0];
         check(file.dtype() == DType::kUint8, ErrorKind::kType, "imdecode: the bytes of a file are uint8, got {}",
               dtype_name(file.dtype()));
         check_has_values(file, "imdecode");
         std::vector<unsigned char> bytes(static_cast<size_t>(file.size()));
         file.copy_to_host(bytes.data());
         return {decoded(file, bytes, a.flag, a.to_rgb)};
       },
       .unsampled = "its input is a file; tests/python/test_image.py"});
}

std::vector<unsigned char> content_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  check(file.is_open(), ErrorKind::kRuntime, "imread: '{}' couldn't open file: {}", name, std::strerror(errno));
  const std::streamoff size = file.tellg();
  check(size >= 0 && size <= kMostInt, ErrorKind::kRuntime, "imread: '{}' is no file, or too large", name);
  std::vector<unsigned char> content(static_cast<size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.data()), size);
  check(file.good(), ErrorKind::kRuntime, "imread: '{}' failed reading image file", name);
  return content;
}

OpDef imread() {
  using A = ReadAttrs;
  return general<A>({.name = "_cvimread",
                     .aliases = {"_npi_cvimread"},
                     .python = {"nd._internal._cvimread"},
                     .doc = "_cvimdecode of the content of a file. Raises MXNetError where it cannot be read, too.",
                     .inputs = {},
                     .result_dtype = result_dtypes::always(DType::kUint8),
                     .compose = [](std::span<const NDArray>, const A& a) -> std::vector<NDArray> {
                       const std::vector<unsigned char> content = content_of(a.filename);
                       const NDArray file = NDArray::from_host(content.data(), {static_cast<int64_t>(content.size())},
                                                               DType::kUint8, Device{});
                       return {decoded(file, content, a.flag, a.to_rgb)};
                     },
                     .unsampled = "it reads a file; tests/python/test_image.py"});
}

}  // namespace

Operators decode_operators() { return {decode_pixels(), imdecode(), imread()}; }

}  // namespace headrace
