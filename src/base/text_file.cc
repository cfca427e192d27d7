#include "base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace headrace {
namespace {

// A file that is open for reading. To open a pipe without O_NONBLOCK waits for somebody who writes.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    check(descriptor_ >= 0, ErrorKind::kOs, "{}", std::strerror(errno));
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;

  bool is_regular() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  }
  // Up to `count` bytes; none at the end.
  size_t read(char* to, size_t count) const {
    ssize_t got;
    do got = ::read(descriptor_, to, count);
    while (got < 0 && errno == EINTR);
    check(got >= 0, ErrorKind::kOs, "{}", std::strerror(errno));
    return static_cast<size_t>(got);
  }

 private:
  int descriptor_;
};

}  // namespace

std::string read_text_file(const std::string& path, size_t most_bytes) {
  constexpr size_t kPiece = size_t{1} << 16;
  const OpenFile file(path);
  check(file.is_regular(), ErrorKind::kOs, "it is not a regular file");
  std::string text;
  for (size_t got = 1; got > 0;) {
    const size_t size = text.size();
    text.resize(size + kPiece);
    got = file.read(&text[size], kPiece);
    text.resize(size + got);
    check(text.size() <= most_bytes, ErrorKind::kOs, "it has more than {} bytes", most_bytes);
  }
  return text;
}

}  // namespace headrace
