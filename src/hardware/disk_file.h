// The file that the disk is measured with. It has no name once it is open, so nothing stays behind, whatever happens.
// For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "hardware/region.h"

namespace headrace::hardware {

class DiskFile {
 public:
  static constexpr size_t kBlock = 4096, kPiece = size_t{1} << 20;

  // Writes `bytes` (whole pieces) random bytes into a new file. Throws NotMeasured where there is no room, and Error
  // with the system's reason where the folder cannot be written.
  DiskFile(const std::string& directory, size_t bytes);
  ~DiskFile();
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;

  // Whole blocks at whole blocks; size at most kPiece. They raise OSError.
  void read(size_t offset, size_t size);
  void write(size_t offset, size_t size);  // on the disk when it returns, as far as the disk tells

  size_t size() const noexcept { return size_; }
  // The system's page cache is not asked: O_DIRECT.
  bool direct() const noexcept { return direct_; }
  // Without O_DIRECT: asks the system to forget what it keeps of the file.
  void forget() const noexcept;
  const std::string& note() const noexcept { return note_; }

 private:
  void open_unnamed();
  void fill();

  const std::string directory_;
  const size_t size_;
  const Region buffer_;
  int descriptor_ = -1;
  bool direct_ = false;
  std::string note_;
};

}  // namespace headrace::hardware
