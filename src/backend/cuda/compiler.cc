#include "backend/cuda/compiler.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/kernel_cache.h"
#include "backend/cuda/library.h"
#include "base/check.h"
#include "base/config.h"
#include "device/kernel_module.h"

namespace headrace {
namespace {

struct Compiler {
  decltype(&nvrtcVersion) version;
  decltype(&nvrtcGetErrorString) get_error_string;
  decltype(&nvrtcGetNumSupportedArchs) get_num_supported_archs;
  decltype(&nvrtcGetSupportedArchs) get_supported_archs;
  decltype(&nvrtcCreateProgram) create_program;
  decltype(&nvrtcDestroyProgram) destroy_program;
  decltype(&nvrtcCompileProgram) compile_program;
  decltype(&nvrtcGetProgramLogSize) get_program_log_size;
  decltype(&nvrtcGetProgramLog) get_program_log;
  decltype(&nvrtcGetCUBINSize) get_cubin_size;
  decltype(&nvrtcGetCUBIN) get_cubin;
  decltype(&nvrtcGetPTXSize) get_ptx_size;
  decltype(&nvrtcGetPTX) get_ptx;
  decltype(&nvrtcAddNameExpression) add_name_expression;
  decltype(&nvrtcGetLoweredName) get_lowered_name;

  int major = 0, minor = 0;
  std::vector<int> architectures;  // rising
};

constexpr int kOldestCompiler = 12, kNewestCompiler = 13;

// Newest first, but none that is newer than the driver, which would not take its code. Where pip puts them is in the
// search path of this library (cmake/cuda.cmake).
std::vector<std::string> library_names() {
  if (!config().cuda_compiler.empty()) return {config().cuda_compiler};
  std::vector<std::string> names;
  for (int major = std::min(kNewestCompiler, newest_cuda()); major >= kOldestCompiler; --major)
    names.push_back(fmt::format("libnvrtc.so.{}", major));
  return names;
}

void* open_compiler() {
  std::string why;
  if (void* const library = open_first_library(library_names(), why)) return library;
  fail(ErrorKind::kRuntime,
       "cuda: kernels cannot be compiled: {}. Install NVIDIA's compiler (pip install nvidia-cuda-nvrtc), or name the "
       "library in HEADRACE_CUDA_COMPILER.",
       why);
}

void check_compiler(const Compiler& compiler, nvrtcResult result, const char* call) {
  check(result == NVRTC_SUCCESS, ErrorKind::kRuntime, "cuda: {} answered {}", call, compiler.get_error_string(result));
}

Compiler load_compiler() {
  void* const library = open_compiler();
  Compiler made{};
  const auto look_up = [library]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    check(function != nullptr, ErrorKind::kRuntime,
          "cuda: the library that is to compile kernels has no {}; HEADRACE_CUDA_COMPILER must name NVRTC of CUDA 12 "
          "or later",
          name);
  };
  look_up(made.version, "nvrtcVersion");
  look_up(made.get_error_string, "nvrtcGetErrorString");
  look_up(made.get_num_supported_archs, "nvrtcGetNumSupportedArchs");
  look_up(made.get_supported_archs, "nvrtcGetSupportedArchs");
  look_up(made.create_program, "nvrtcCreateProgram");
  look_up(made.destroy_program, "nvrtcDestroyProgram");
  look_up(made.compile_program, "nvrtcCompileProgram");
  look_up(made.get_program_log_size, "nvrtcGetProgramLogSize");
  look_up(made.get_program_log, "nvrtcGetProgramLog");
  look_up(made.get_cubin_size, "nvrtcGetCUBINSize");
  look_up(made.get_cubin, "nvrtcGetCUBIN");
  look_up(made.get_ptx_size, "nvrtcGetPTXSize");
  look_up(made.get_ptx, "nvrtcGetPTX");
  look_up(made.add_name_expression, "nvrtcAddNameExpression");
  look_up(made.get_lowered_name, "nvrtcGetLoweredName");
  int count = 0;
  check_compiler(made, made.version(&made.major, &made.minor), "nvrtcVersion");
  check_compiler(made, made.get_num_supported_archs(&count), "nvrtcGetNumSupportedArchs");
  made.architectures.resize(static_cast<size_t>(count));
  check_compiler(made, made.get_supported_archs(made.architectures.data()), "nvrtcGetSupportedArchs");
  std::ranges::sort(made.architectures);
  return made;
}

const Compiler& compiler() {
  static const Compiler& instance = *new Compiler(load_compiler());
  return instance;
}

// What is compiled for: the GPU's own machine code, or, where the compiler does not know the GPU, code that the driver
// translates.
struct Target {
  int architecture;
  bool is_machine_code;

  std::string option() const {
    return fmt::format("--gpu-architecture={}_{}", is_machine_code ? "sm" : "compute", architecture);
  }
};

Target target_for(int compute_capability) {
  const std::vector<int>& known = compiler().architectures;
  const auto above = std::ranges::upper_bound(known, compute_capability);
  check(above != known.begin(), ErrorKind::kRuntime,
        "cuda: the GPU has compute capability {}.{}, but the compiler begins at {}.{}; install an older NVRTC (CUDA 12 "
        "serves "
        "from 5.0 on)",
        compute_capability / 10, compute_capability % 10, known.front() / 10, known.front() % 10);
  const int best = *std::prev(above);
  return {best, best == compute_capability};
}

// Results of formulas do not depend on what the compiler contracts, as on the host.
constexpr std::array kOptions = {"--std=c++20", "--fmad=false", "--device-as-default-execution-space"};

bool names_architecture(const std::string& option) {
  return option.starts_with("-arch") || option.starts_with("--gpu-architecture");
}

class Program {
 public:
  Program(const std::string& source, std::span<const DeviceHeader> headers) {
    std::vector<const char*> names, texts;
    for (const DeviceHeader& header : headers) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    check_compiler(compiler(),
                   compiler().create_program(&handle_, source.c_str(), "kernel.cu", static_cast<int>(names.size()),
                                             texts.data(), names.data()),
                   "nvrtcCreateProgram");
  }
  ~Program() { compiler().destroy_program(&handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Before it is compiled.
  void add_name(const std::string& name) {
    check_compiler(compiler(), compiler().add_name_expression(handle_, name.c_str()), "nvrtcAddNameExpression");
  }

  void compile(std::span<const std::string> options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const nvrtcResult result = compiler().compile_program(handle_, static_cast<int>(texts.size()), texts.data());
    check(result == NVRTC_SUCCESS, ErrorKind::kRuntime, "cuda: a kernel does not compile ({}):\n{}",
          compiler().get_error_string(result), log());
  }

  // Machine code, where that was compiled for; otherwise there is none of it.
  std::string image() const {
    std::string machine_code = text(compiler().get_cubin_size, compiler().get_cubin, "nvrtcGetCUBIN");
    return machine_code.empty() ? text(compiler().get_ptx_size, compiler().get_ptx, "nvrtcGetPTX") : machine_code;
  }

  std::string lowered_name(const std::string& name) const {
    const char* lowered = nullptr;
    check_compiler(compiler(), compiler().get_lowered_name(handle_, name.c_str(), &lowered), "nvrtcGetLoweredName");
    return lowered;
  }

 private:
  std::string log() const {
    return text(compiler().get_program_log_size, compiler().get_program_log, "nvrtcGetProgramLog");
  }

  template <class Size, class Get>
  std::string text(Size size_of, Get get, const char* call) const {
    size_t bytes = 0;
    check_compiler(compiler(), size_of(handle_, &bytes), call);
    std::string made(bytes, '\0');
    if (bytes > 0) check_compiler(compiler(), get(handle_, made.data()), call);
    return made;
  }

  nvrtcProgram handle_ = nullptr;
};

// All that what is compiled depends on.
std::string key_of(const std::string& source, const Target& target) {
  std::string key = fmt::format("NVRTC {}.{} {}", compiler().major, compiler().minor, target.option());
  for (const char* option : kOptions) key += fmt::format(" {}", option);
  for (const DeviceHeader& header : device_headers()) {
    const size_t bytes = std::strlen(header.text);
    key +=
        fmt::format("\n{} {} {:x}", header.name, bytes, crc32_z(0, reinterpret_cast<const Bytef*>(header.text), bytes));
  }
  return key + "\n" + source;
}

std::string compile_for(const std::string& source, const Target& target) {
  std::vector<std::string> options(kOptions.begin(), kOptions.end());
  options.push_back(target.option());
  Program program(source, device_headers());
  program.compile(options);
  return program.image();
}

struct Functions {
  std::mutex mutex;
  std::map<std::pair<const CudaDevice*, std::string>, CUfunction> known;  // guarded by mutex
};

Functions& functions() {
  static Functions& instance = *new Functions;
  return instance;
}

}  // namespace

std::string compile_kernel(const std::string& source, int compute_capability) {
  return compile_for(source, target_for(compute_capability));
}

CompiledSource compile_source(const KernelSource& source, int compute_capability) {
  std::vector<std::string> options = source.options;
  if (std::ranges::none_of(options, names_architecture)) options.push_back(target_for(compute_capability).option());
  Program program(source.text, {});
  for (const std::string& name : source.exports) program.add_name(name);
  program.compile(options);
  CompiledSource made{.image = program.image(), .names = {}};
  for (const std::string& name : source.exports) made.names[name] = program.lowered_name(name);
  return made;
}

CUmodule load_image(CudaDevice& device, const std::string& image) {
  const ContextScope scope(device);
  const std::lock_guard loading(gang_lock());
  CUmodule module = nullptr;
  device.check(device.driver().module_load_data(&module, image.c_str()), "cuModuleLoadData");
  return module;
}

// Where the driver loads code late, it does here.
CUresult find_function(CudaDevice& device, CUmodule module, const char* name, CUfunction& found) {
  const ContextScope scope(device);
  const std::lock_guard loading(gang_lock());
  return device.driver().module_get_function(&found, module, name);
}

CUfunction kernel_function(CudaDevice& device, const std::string& source, const char* name) {
  Functions& all = functions();
  const std::lock_guard guard(all.mutex);
  CUfunction& function = all.known[{&device, source}];
  if (function) return function;
  const Target target = target_for(device.compute_capability());
  const std::string image = cached_kernel(key_of(source, target), [&] { return compile_for(source, target); });
  CUmodule const module = load_image(device, image);
  CUfunction found = nullptr;
  device.check(find_function(device, module, name, found), "cuModuleGetFunction");
  return function = found;
}

}  // namespace headrace
