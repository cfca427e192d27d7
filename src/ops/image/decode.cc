// Files of images in arrays of bytes become arrays of pixels.
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
      fields(field(&DecodeAttrs::flag, "flag", "1: three channels; 0: grey.").between(0, 1),
             field(&DecodeAttrs::to_rgb, "to_rgb", "Channels are red, green, blue; otherwise blue, green, red."));
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
         check(a.flag == 0 || a.flag == 1, ErrorKind::kValue, "imdecode: flag must be 0 (grey) or 1 (colours), got {}",
               a.flag);
         check(file.dtype() == DType::kUint8, ErrorKind::kType, "imdecode: the bytes of a file are uint8, got {}",
               dtype_name(file.dtype()));
         check_has_values(file, "imdecode");
         std::vector<unsigned char> bytes(static_cast<size_t>(file.size()));
         file.copy_to_host(bytes.data());
         const codec::Header header = codec::read_header(bytes);
         return {call("_decode_image", {file},
                      {{"height", header.height}, {"width", header.width}, {"flag", a.flag}, {"to_rgb", a.to_rgb}})};
       },
       .unsampled = "its input is a file; tests/python/test_image.py"});
}

}  // namespace

Operators decode_operators() { return {decode_pixels(), imdecode()}; }

}  // namespace headrace
