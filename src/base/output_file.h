// A file that takes the place of another when it is complete. One thread at a time.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

// Written beside its target and renamed, so that a failure leaves an old file whole, and with the old one's
// permissions; a link stays one. Written in place is what has nothing to keep or would be torn from those who hold it:
// a file that is empty, as a program's temporary one may be, or has several names, a pipe, and a file in a folder that
// takes no other. All members raise MXNetError with the path and what the system says.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  // Without commit() nothing has happened, but for what was written in place.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Takes room for all that will be written. Much faster than taking it page by page: ext4, for one, flushes a file
  // with pages that have no place yet when it is renamed over another. A file system without this ability goes on as
  // ever.
  void reserve(size_t bytes);
  void write(std::string_view bytes);
  void commit();

 private:
  // false: the folder takes no new file.
  bool open_beside(const std::optional<struct stat>& old);

  std::string path_, target_, temporary_;  // as given; where links lead; empty: in place
  int descriptor_ = -1;
};

}  // namespace headrace
