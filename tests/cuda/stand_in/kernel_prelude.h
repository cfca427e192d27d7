// What the compiler of kernels knows without being told, for the host's compiler. Threads of a block run one after the
// other, so a kernel that waits for others (__syncthreads) does not compile here.
#pragma once

#include <type_traits>

#define __global__
#define __device__
#define __host__

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};
inline thread_local Dim gridDim, blockDim, blockIdx, threadIdx;

template <class Arguments>
void run_on_host(void (*kernel)(Arguments), unsigned blocks, unsigned threads, const void* arguments) {
  gridDim.x = blocks;
  blockDim.x = threads;
  const auto& typed = *static_cast<const std::remove_const_t<Arguments>*>(arguments);
  for (blockIdx = {0, 0, 0}; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx = {0, 0, 0}; threadIdx.x < threads; ++threadIdx.x) kernel(typed);
}
