#include "tests/attack/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/error.hpp"

namespace headrace::fuzz {

bool accepts(FunctionRef<void()> use) {
  try {
    use();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

File::File(std::string_view bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
  expect(descriptor_ >= 0, "memfd_create failed");
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  expect(write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "write failed");
}

File::~File() { close(descriptor_); }

std::string written(FunctionRef<void(const std::string& path)> write) {
  std::string folder = (std::filesystem::temp_directory_path() / "headrace-fuzz-XXXXXX").string();
  expect(mkdtemp(folder.data()) != nullptr, "mkdtemp failed");
  const std::string path = folder + "/file";
  write(path);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(folder);
  return bytes;
}

}  // namespace headrace::fuzz
