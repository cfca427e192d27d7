#include "backend/cuda/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>

#include "base/config.h"
#include "base/log.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// A file: this line, the lengths of key and kernel and the checksum of the kernel in a line, the key, the kernel.
constexpr const char* kMagic = "headrace kernel 1";

fs::path folder() {
  if (!config().cuda_cache.empty()) return config().cuda_cache;
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "headrace/cuda";
  if (const char* const home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache/headrace/cuda";
  return fs::temp_directory_path() / fmt::format("headrace-{}", ::getuid()) / "cuda";
}

uint32_t checksum(const std::string& bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// FNV-1a. Files hold the whole key, so two keys of one name only take each other's place.
uint64_t hash_of(const std::string& text) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::optional<std::string> read(const fs::path& path, const std::string& key) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  size_t key_bytes = 0, kernel_bytes = 0;
  uint32_t expected = 0;
  if (!std::getline(file, magic) || magic != kMagic) return {};
  if (!(file >> key_bytes >> kernel_bytes >> expected) || file.get() != '\n' || key_bytes != key.size()) return {};
  std::error_code error;
  if (fs::file_size(path, error) < key_bytes + kernel_bytes || error) return {};
  std::string found(key_bytes, '\0'), kernel(kernel_bytes, '\0');
  file.read(found.data(), static_cast<std::streamsize>(key_bytes));
  file.read(kernel.data(), static_cast<std::streamsize>(kernel_bytes));
  if (!file || found != key || checksum(kernel) != expected) return {};
  return kernel;
}

// Under another name at first: other processes see a whole file or none.
bool write(const fs::path& path, const std::string& key, const std::string& kernel) {
  static std::atomic<int> number{0};
  const fs::path temporary = fmt::format("{}.{}.{}", path.string(), ::getpid(), number++);
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary);
    file << kMagic << '\n' << key.size() << ' ' << kernel.size() << ' ' << checksum(kernel) << '\n' << key << kernel;
    if (!file.flush()) {
      fs::remove(temporary, error);
      return false;
    }
  }
  fs::rename(temporary, path, error);
  return !error;
}

// Held by who makes a kernel, in any process, so that others wait for it rather than make it, too; but not for ever, as
// a process may be stopped. Kernels share 256 locks. Where there can be none, nobody waits.
class MakersLock {
 public:
  MakersLock(const fs::path& folder, uint64_t hash)
      : file_(::open((folder / fmt::format("{:02x}.lock", hash & 0xff)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kLookAgain);
  }
  ~MakersLock() {
    if (file_ >= 0) ::close(file_);
  }
  MakersLock(const MakersLock&) = delete;
  MakersLock& operator=(const MakersLock&) = delete;

 private:
  static constexpr std::chrono::milliseconds kPatience{30'000}, kLookAgain{5};
  const int file_;
};

}  // namespace

std::string cached_kernel(const std::string& key, FunctionRef<std::string()> make) {
  const uint64_t hash = hash_of(key);
  const fs::path path = folder() / fmt::format("{:016x}.kernel", hash);
  if (std::optional<std::string> known = read(path, key)) return *std::move(known);
  std::error_code error;  // of a folder that cannot be made: nothing is kept then
  fs::create_directories(path.parent_path(), error);
  const MakersLock lock(path.parent_path(), hash);
  if (std::optional<std::string> known = read(path, key)) return *std::move(known);
  std::string made = make();
  static std::atomic<bool> was_said{false};
  if (!write(path, key, made) && !was_said.exchange(true))
    log(LogLevel::kWarn,
        "cuda: compiled kernels cannot be kept in {}, so each process compiles them again; HEADRACE_CUDA_CACHE names "
        "another "
        "folder",
        path.parent_path().string());
  return made;
}

}  // namespace headrace
