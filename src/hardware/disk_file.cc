#include "hardware/disk_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>

#include "base/check.h"
#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

// Raises what the system says to a call that has just failed.
void check_call(bool succeeded, std::string_view what, const std::string& directory, std::string_view hint = "") {
  check(succeeded, ErrorKind::kOs, "cannot {} '{}': {}{}", what, directory, std::strerror(errno), hint);
}

constexpr std::string_view kHint = ". Name another one with --directory";

void check_room(const std::string& directory, size_t bytes) {
  struct statvfs system {};
  check_call(statvfs(directory.c_str(), &system) == 0, "use the folder", directory, kHint);
  const auto room = static_cast<double>(system.f_bavail) * static_cast<double>(system.f_frsize);
  if (room < 2.0 * static_cast<double>(bytes))
    throw NotMeasured(fmt::format("no room in '{}': {} MiB are needed and half of {:.0f} MiB is less", directory,
                                  bytes >> 20, room / (1 << 20)));
}

bool lies_in_memory(int descriptor) {
  struct statfs system {};
  return fstatfs(descriptor, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

}  // namespace

DiskFile::DiskFile(const std::string& directory, size_t bytes) : directory_(directory), size_(bytes), buffer_(kPiece) {
  check_room(directory, bytes);
  open_unnamed();
  try {
    fill();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

DiskFile::~DiskFile() { close(descriptor_); }

void DiskFile::open_unnamed() {
  std::string path = directory_ + "/headrace-hardware-XXXXXX";
  descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  check_call(descriptor_ >= 0, "write to the folder", directory_, kHint);
  unlink(path.c_str());
  direct_ = fcntl(descriptor_, F_SETFL, O_DIRECT) == 0;
  if (lies_in_memory(descriptor_))
    note_ = fmt::format("'{}' lies in memory: no disk is read", directory_);
  else if (!direct_)
    note_ = fmt::format("no O_DIRECT in '{}': read after asking the system to forget the file", directory_);
}

void DiskFile::fill() {
  std::mt19937_64 random(1);
  const std::span<std::byte> buffer = buffer_.bytes();
  for (size_t i = 0; i < buffer.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(buffer.data() + i, &word, sizeof word);
  }
  for (size_t offset = 0; offset < size_; offset += kPiece) {
    std::memcpy(buffer.data(), &offset, sizeof offset);  // no two pieces are equal
    const ssize_t written = pwrite(descriptor_, buffer.data(), kPiece, static_cast<off_t>(offset));
    if (written < 0 && direct_ && errno == EINVAL) {  // accepted as a flag, refused in use
      direct_ = false;
      fcntl(descriptor_, F_SETFL, 0);
      note_ = fmt::format("no O_DIRECT in '{}': read after asking the system to forget the file", directory_);
      offset -= kPiece;
      continue;
    }
    if (written != static_cast<ssize_t>(kPiece))
      throw NotMeasured(fmt::format("cannot write {} MiB to '{}': {}", size_ >> 20, directory_,
                                    written < 0 ? std::strerror(errno) : "no room"));
  }
  check_call(fsync(descriptor_) == 0, "write to", directory_);
  forget();
}

void DiskFile::read(size_t offset, size_t size) {
  const ssize_t count = pread(descriptor_, buffer_.bytes().data(), size, static_cast<off_t>(offset));
  check_call(count >= 0, "read from", directory_);
  check(count == static_cast<ssize_t>(size), ErrorKind::kOs, "cannot read from '{}': end of file", directory_);
}

void DiskFile::write(size_t offset, size_t size) {
  const ssize_t count = pwrite(descriptor_, buffer_.bytes().data(), size, static_cast<off_t>(offset));
  check_call(count >= 0, "write to", directory_);
  check(count == static_cast<ssize_t>(size), ErrorKind::kOs, "cannot write to '{}': no room", directory_);
  check_call(direct_ || fdatasync(descriptor_) == 0, "write to", directory_);
}

void DiskFile::forget() const noexcept {
  if (!direct_) posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace headrace::hardware
