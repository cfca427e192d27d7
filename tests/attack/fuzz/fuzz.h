// What a fuzz target is: a file <reader>_fuzz.cc with these two functions. It is linked with driver.cc, or with
// libFuzzer where the compiler has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"

// Reads the bytes and uses what was read. Whatever they are, the only thing that may come out is a headrace::Error,
// which the target catches; everything else ends the process: another exception, a signal, fuzz::expect. Always gives
// 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace headrace::fuzz {

// Inputs that the reader accepts, written by the library itself, and those of its faults that a mutation hardly finds.
std::vector<std::string> seeds();

// For targets.
inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
// Whether `use` went through without an Error.
bool accepts(FunctionRef<void()> use);
// Ends the process with that text unless the condition holds.
void expect(bool condition, const char* what);
// An open file of these bytes, without a place in a folder, for readers that take a path.
class File {
 public:
  explicit File(std::string_view bytes);
  ~File();
  File(const File&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  int descriptor_;
  std::string path_;
};
// What `write` writes to the path that it is given.
std::string written(FunctionRef<void(const std::string& path)> write);

}  // namespace headrace::fuzz
