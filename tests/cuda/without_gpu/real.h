// Functions of the real cuDNN.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

template <class Function>
inline Function* real(Function*, const char* name) {
  static void* const library = dlopen(CUDNN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* const found = library ? dlsym(library, name) : nullptr;
  if (!found) {
    std::fprintf(stderr, "%s of %s: %s\n", name, CUDNN_LIBRARY, dlerror());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

#define REAL(function) real(&function, #function)

#define WITHOUT_GPU_API extern "C" [[gnu::visibility("default")]]
