// The functions of NVRTC that headrace's plug-in asks for (backend/cuda/compiler.h), over the host's compiler.
#include <nvrtc.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

// STAND_IN_COMPILER and STAND_IN_FLAGS are given by the build.
struct _nvrtcProgram {
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;
  std::map<std::string, std::string> exports;  // as C++ names them, and as the image does
  std::string log = std::string(1, '\0'), image;
};

namespace {

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Headers of the standard are the host's own.
bool is_standard(const std::string& name) { return name.find('/') == std::string::npos; }

// What the image has in the place of "axpy<float>".
std::string lowered(const std::string& name) { return "_Z_" + std::regex_replace(name, std::regex("\\W"), "_"); }

// A function of C that runs all threads of a kernel.
std::string runner(const std::string& kernel, const std::string& name) {
  return "extern \"C\" void " + name +
         "_on_host(const stand_in::Extents& extents, const void* arguments, stand_in::Threads& threads) {\n"
         "  run_on_host(" +
         kernel + ", extents, arguments, threads);\n}\n";
}

// The source with a runner for each kernel that the image has a name for.
std::string on_host(const _nvrtcProgram& program) {
  static const std::regex kKernel("extern\\s+\"C\"\\s+__global__\\s+void\\s+(\\w+)\\s*\\(");
  static const std::regex kShared("extern\\s+__shared__\\s+([^;]*?)\\s+(\\w+)\\s*\\[\\s*\\]\\s*;");
  const std::string& source = program.source;
  std::string made = std::regex_replace(source, kShared, "$1* const $2 = shared_array<$1>();");
  for (std::sregex_iterator found(source.begin(), source.end(), kKernel), end; found != end; ++found)
    made += runner((*found)[1], (*found)[1]);
  for (const auto& [name, lowered] : program.exports) made += runner(name, lowered);
  return made;
}

// A folder that goes with the object.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "stand-in-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 0;  // of no NVRTC, and raised with what runners take: kept kernels must not be mixed up
  *minor = 2;
  return NVRTC_SUCCESS;
}

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}

constexpr std::array kArchitectures = {75, 80, 90, 100, 120};

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(kArchitectures.size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  std::copy(kArchitectures.begin(), kArchitectures.end(), architectures);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int count,
                               const char* const* headers, const char* const* names) {
  *program = new _nvrtcProgram{.source = source, .headers = {}, .exports = {}};
  for (int i = 0; i < count; ++i)
    if (!is_standard(names[i])) (*program)->headers.emplace_back(names[i], headers[i]);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char* name) {
  program->exports.emplace(name, lowered(name));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char* name, const char** found) {
  const auto known = program->exports.find(name);
  if (known == program->exports.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  *found = known->second.c_str();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  const Folder folder;
  for (const auto& [name, text] : program->headers) write(folder.path() / name, text);
  const fs::path source = folder.path() / "kernel.cc", library = folder.path() / "kernel.so",
                 log = folder.path() / "log";
  write(source, on_host(*program));
  const std::string command = std::string(STAND_IN_COMPILER) +
                              " " STAND_IN_FLAGS " -shared -include kernel_prelude.h -I'" + folder.path().string() +
                              "' -o '" + library.string() + "' '" + source.string() + "' >'" + log.string() + "' 2>&1";
  const int status = std::system(command.c_str());
  program->log = contents(log) + '\0';
  if (status != 0) return NVRTC_ERROR_COMPILATION;
  const std::string bytes = contents(library);
  const uint64_t count = bytes.size();
  program->image.assign(reinterpret_cast<const char*>(&count), sizeof count);
  program->image += bytes;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) {
  *bytes = program->log.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::memcpy(log, program->log.data(), program->log.size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
  *bytes = program->image.size();
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  std::memcpy(image, program->image.data(), program->image.size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* image) { return nvrtcGetCUBIN(program, image); }

}  // extern "C"
