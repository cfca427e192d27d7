#include "tests/cuda/stand_in/kernel.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace stand_in {

struct Module {
  void* library = nullptr;  // null: it is machine code
  std::map<std::string, Resources> resources;
  std::map<std::string, Function> functions;
};

namespace {

// The library of an image, whose file has a name of its own: the loader takes one of a known name for the same library.
void* open_library(const void* image) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, image, sizeof bytes);
  const char* data = static_cast<const char*>(image) + sizeof bytes;
  std::string path = (std::filesystem::temp_directory_path() / "stand-in-kernel-XXXXXX").string();
  const int file = ::mkstemp(path.data());
  if (file < 0) return nullptr;
  while (bytes > 0) {
    const ssize_t written = ::write(file, data, bytes);
    if (written <= 0) return nullptr;
    data += written;
    bytes -= static_cast<uint64_t>(written);
  }
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(file);
  ::unlink(path.c_str());
  return library;
}

Kernel kernel_of(const Module& module, const std::string& name) {
  if (module.library) return reinterpret_cast<Kernel>(::dlsym(module.library, (name + "_on_host").c_str()));
  if (!module.resources.contains(name)) return nullptr;
  return [](const Extents&, const void*, Threads&) {};
}

}  // namespace

Module* load_image(const void* image) {
  auto made = std::make_unique<Module>();
  if (is_machine_code(image)) {
    made->resources = resources_of(image);
  } else {
    made->library = open_library(image);
    if (!made->library) return nullptr;
  }
  return made.release();
}

void unload_image(Module* module) {
  if (module->library) ::dlclose(module->library);
  delete module;
}

Function* find_kernel(Module& module, const std::string& name) {
  const Kernel kernel = kernel_of(module, name);
  if (!kernel) return nullptr;
  const auto known = module.resources.find(name);
  const Resources resources = known == module.resources.end() ? Resources() : known->second;
  return &module.functions.try_emplace(name, Function{.run = kernel, .resources = resources}).first->second;
}

}  // namespace stand_in
