// Image files as Python's bytes, for records of images. No arrays of the library, and so no engine: they may be used in
// processes that were forked.

#include "base/check.h"
#include "bindings.h"
#include "gil.h"
#include "ops/image/codec.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

codec::Bytes codec_bytes(const nb::bytes& bytes) {
  return {static_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

// -1, 0 and 1 are OpenCV's IMREAD_UNCHANGED, IMREAD_GRAYSCALE and IMREAD_COLOR.
codec::Color color_of(int iscolor) {
  check(iscolor >= -1 && iscolor <= 1, ErrorKind::kValue,
        "unpack_img: iscolor must be -1 (as stored), 0 (grey) or 1 (colours), got {}", iscolor);
  return iscolor == -1 ? codec::Color::kStored : iscolor == 0 ? codec::Color::kGray : codec::Color::kBgr;
}

nb::object decode(const nb::bytes& file, int iscolor) {
  return translated([&] {
    const codec::Color color = color_of(iscolor);
    const codec::Header header = codec::read_header(codec_bytes(file), color);
    const int64_t size = header.height * header.width * header.channels * header.bits / 8;
    PyObject* made = PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
    if (!made) throw nb::python_error();
    const nb::object pixels = nb::steal(made);
    {
      const WithoutGil unlocked;
      codec::decode(codec_bytes(file), color, reinterpret_cast<unsigned char*>(PyByteArray_AS_STRING(made)));
    }
    return nb::object(nb::make_tuple(pixels, header.height, header.width, header.channels, header.bits));
  });
}

using Encoder = std::vector<unsigned char> (*)(const codec::Picture&, int64_t);

nb::bytes encoded(Encoder encode, const nb::bytes& pixels, int64_t height, int64_t width, int64_t channels, int bits,
                  int64_t quality) {
  return translated([&] {
    check(height >= 0 && width >= 0 && channels >= 0 &&
              static_cast<int64_t>(pixels.size()) == height * width * channels * bits / 8,
          ErrorKind::kValue, "encode: {} bytes are not {} x {} x {} elements of {} bits", pixels.size(), height, width,
          channels, bits);
    std::vector<unsigned char> file;
    {
      const WithoutGil unlocked;
      file = encode({codec_bytes(pixels), height, width, channels, bits}, quality);
    }
    return nb::bytes(file.data(), file.size());
  });
}

}  // namespace

void bind_images(nb::module_& m) {
  m.def("decode_image", decode, "(pixels, height, width, channels, bits) of a JPEG or PNG file.");
  const auto encoder = [&m](const char* name, Encoder encode, const char* doc) {
    m.def(
        name,
        [encode](const nb::bytes& pixels, int64_t height, int64_t width, int64_t channels, int bits, int64_t quality) {
          return encoded(encode, pixels, height, width, channels, bits, quality);
        },
        doc);
  };
  encoder("encode_jpeg", codec::encode_jpeg, "A JPEG file of pixels (height, width, channels), of a quality.");
  encoder("encode_png", codec::encode_png, "A PNG file of pixels (height, width, channels), compressed so much.");
}

}  // namespace headrace::python
