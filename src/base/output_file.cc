#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "base/check.h"

namespace headrace {
namespace {

// Processes, also those of other machines that share the folder, may write one file at a time.
std::string temporary_for(const std::string& path) {
  std::random_device random;
  return fmt::format("{}.{:08x}.part", path, random());
}

std::optional<struct stat> state_of(const std::string& path) {
  struct stat state;
  if (::stat(path.c_str(), &state) != 0) return {};
  return state;
}

// Where links lead, whether or not there is a file.
std::string end_of_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the system has it
  std::filesystem::path end = path;
  std::error_code unknown;
  for (int link = 0; std::filesystem::is_symlink(end, unknown); ++link) {
    check(link < kMostLinks, ErrorKind::kRuntime, "Open \"{}\": {}", path, std::strerror(ELOOP));
    end = end.parent_path() / std::filesystem::read_symlink(end, unknown);
  }
  return end.string();
}

bool is_written_in_place(const struct stat& old) {
  return !S_ISREG(old.st_mode) || old.st_size == 0 || old.st_nlink > 1;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(end_of_links(path)) {
  const std::optional<struct stat> old = state_of(path);
  if ((old && is_written_in_place(*old)) || (!open_beside(old) && old))
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  check(descriptor_ >= 0, ErrorKind::kRuntime, "Open \"{}\": {}", path_, std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

bool OutputFile::open_beside(const std::optional<struct stat>& old) {
  std::string beside = temporary_for(target_);
  descriptor_ = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return false;
  temporary_ = std::move(beside);
  if (old) static_cast<void>(::fchmod(descriptor_, old->st_mode & 07777));  // some file systems know no permissions
  return true;
}

void OutputFile::reserve(size_t bytes) {
  const bool full = ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 && errno == ENOSPC;
  check(!full, ErrorKind::kRuntime, "Write \"{}\": {}", path_, std::strerror(ENOSPC));
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    check(written > 0, ErrorKind::kRuntime, "Write \"{}\": {}", path_, std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void OutputFile::commit() {
  const bool is_written = ::close(std::exchange(descriptor_, -1)) == 0;
  const bool is_named = is_written && (temporary_.empty() || ::rename(temporary_.c_str(), target_.c_str()) == 0);
  check(is_named, ErrorKind::kRuntime, "Write \"{}\": {}", path_, std::strerror(errno));
  temporary_.clear();
}

}  // namespace headrace
