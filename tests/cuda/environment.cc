// Has this process use the stand-in, before anything reads the configuration.
#include <cstdlib>

extern "C" {

// The sanitizer's name.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
const char* __asan_default_options();

// The streams of the stand-in never end, and LeakSanitizer cannot look at threads with stacks of their own.
const char* __asan_default_options() { return "detect_leaks=0"; }

}  // extern "C"

namespace {

[[maybe_unused]] const bool is_set = [] {
  constexpr int kKeep = 0;
  ::setenv("HEADRACE_CUDA", "1", kKeep);
  ::setenv("HEADRACE_CUDA_DRIVER", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_COMPILER", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_DNN", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_SOLVER", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_NCCL", STAND_IN_LIBRARY, kKeep);
  ::setenv("NVTX_INJECTION64_PATH", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_CACHE", STAND_IN_CACHE, kKeep);
  ::setenv("MXNET_ENABLE_CUDA_GRAPHS", "1", kKeep);
  ::setenv("HEADRACE_STAND_IN_MEMORY", "268435456", kKeep);
  return true;
}();

}  // namespace
