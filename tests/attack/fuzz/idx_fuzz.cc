// Files of images and labels, plain and compressed: src/gluon/idx.cc.
#include "gluon/idx.h"

#include <zlib.h>

#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

std::string zipped(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string idx(const std::vector<uint32_t>& shape, std::string_view values) {
  std::string bytes{0, 0, 8, static_cast<char>(shape.size())};
  for (uint32_t extent : shape)
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift);
  return bytes.append(values);
}

void read(std::string_view bytes) {
  const File file(bytes);
  for (size_t axes : {1, 3})
    accepts([&] {
      const NDArray array = gluon::data::read_idx(file.path(), axes);
      expect(array.ndim() == axes && array.to_vector<uint8_t>().size() == static_cast<size_t>(array.size()),
             "the array is not what was asked for");
    });
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string labels = idx({3}, "abc"), images = idx({2, 2, 3}, "abcdefghijkl");
  return {labels,
          images,
          zipped(labels),
          zipped(images),
          zipped(labels) + zipped("def"),
          idx({0}, ""),
          idx({0, 1u << 31, 1u << 31}, ""),
          zipped(idx({1u << 24}, std::string(size_t{1} << 24, 'a')))};
}

}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = headrace::fuzz::text_of(data, size);
  headrace::fuzz::read(bytes);
  headrace::fuzz::read(headrace::fuzz::zipped(bytes));  // changes below the checksum
  return 0;
}
