#include "gluon/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/check.h"

namespace headrace::gluon::data {
namespace {

constexpr uint32_t kUint8 = 0x08;
constexpr int64_t kMaxBytes = int64_t{2} << 30;
constexpr int64_t kMaxDeflateRatio = 1040;  // deflate cannot compress further than 1032:1
constexpr size_t kPiece = size_t{1} << 20;

// A file read through zlib, which passes plain files through as they are.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);  // to open a pipe may wait for ever
    check(!exists(status) || is_regular_file(status), ErrorKind::kOs, "{}: cannot be read: it is not a regular file",
          path);
    file_.reset(gzopen(path.c_str(), "rb"));
    check(file_ != nullptr, ErrorKind::kOs, "{}: cannot be opened: {}", path, std::strerror(errno));
  }

  // Up to `count` bytes; fewer only where the data end.
  size_t read(void* to, size_t count) {
    int got = gzread(file_.get(), to, static_cast<unsigned>(count));
    int code = Z_OK;
    const char* text = gzerror(file_.get(), &code);
    check(code != Z_ERRNO, ErrorKind::kOs, "{}: cannot be read: {}", path_, std::strerror(errno));
    check(got >= 0 && code == Z_OK, ErrorKind::kValue, "{}: damaged gzip data ({})", path_, text);
    return static_cast<size_t>(got);
  }

  // The largest number of bytes that the file can hold.
  int64_t capacity() const {
    std::error_code error;
    auto bytes = static_cast<int64_t>(std::filesystem::file_size(path_, error));
    check(!error, ErrorKind::kOs, "{}: cannot be read: {}", path_, error.message());
    return gzdirect(file_.get()) ? bytes : std::min(bytes, kMaxBytes) * kMaxDeflateRatio;
  }

 private:
  struct Close {
    void operator()(gzFile file) const noexcept { gzclose(file); }
  };
  const std::string& path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

Shape read_header(Reader& reader, const std::string& path, size_t axes) {
  std::vector<uint8_t> header(4 + 4 * axes);
  size_t got = reader.read(header.data(), header.size());
  const uint32_t magic = kUint8 << 8 | static_cast<uint32_t>(axes);
  check(got >= 4 && big_endian(header.data()) == magic, ErrorKind::kValue,
        "{}: not an idx file of {}-dimensional uint8 data: expected magic {}, got {}", path, axes, magic,
        big_endian(header.data()));
  check(got == header.size(), ErrorKind::kValue, "{}: idx header cut short: expected {} bytes, got {}", path,
        header.size(), got);
  Shape shape;
  for (size_t axis = 0; axis < axes; ++axis) shape.push_back(big_endian(&header[4 + 4 * axis]));
  return shape;
}

// Number of bytes that the shape states, once it is clear that the file may hold them.
int64_t checked_count(const Shape& shape, int64_t capacity, const std::string& path) {
  int64_t count = 1;
  bool fits = true;
  for (int64_t extent : shape) fits &= extent == 0 || !__builtin_mul_overflow(count, extent, &count);
  for (int64_t extent : shape) count = extent == 0 ? 0 : count;
  check(fits && count <= kMaxBytes && count + 4 + 4 * static_cast<int64_t>(shape.size()) <= capacity, ErrorKind::kValue,
        "{}: idx header states shape {}, more data than the file can hold", path, to_string(shape));
  return count;
}

}  // namespace

NDArray read_idx(const std::string& path, size_t axes) {
  Reader reader(path);
  Shape shape = read_header(reader, path, axes);
  auto wanted = static_cast<size_t>(checked_count(shape, reader.capacity(), path));
  std::vector<uint8_t> values;
  while (values.size() < wanted) {
    size_t begin = values.size(), piece = std::min(kPiece, wanted - begin);
    values.resize(begin + piece);
    size_t got = reader.read(&values[begin], piece);
    check(got == piece, ErrorKind::kValue, "{}: idx data cut short: expected {} bytes, got {}", path, wanted,
          begin + got);
  }
  uint8_t extra;
  check(reader.read(&extra, 1) == 0, ErrorKind::kValue, "{}: more data than the shape {} in the idx header", path,
        to_string(shape));
  return NDArray::from_host(values.data(), shape, DType::kUint8);
}

}  // namespace headrace::gluon::data
