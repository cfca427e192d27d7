// Has this process use the stand-in, before anything reads the configuration.
#include <cstdlib>

namespace {

[[maybe_unused]] const bool is_set = [] {
  constexpr int kKeep = 0;
  ::setenv("HEADRACE_CUDA", "1", kKeep);
  ::setenv("HEADRACE_CUDA_DRIVER", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_COMPILER", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_DNN", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_NCCL", STAND_IN_LIBRARY, kKeep);
  ::setenv("HEADRACE_CUDA_CACHE", STAND_IN_CACHE, kKeep);
  ::setenv("HEADRACE_STAND_IN_MEMORY", "268435456", kKeep);
  return true;
}();

}  // namespace
