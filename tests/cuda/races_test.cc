// What ThreadSanitizer sees of kernels on the stand-in.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/devices.hpp"
#include "headrace/rtc.hpp"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"

namespace headrace {
namespace {

// Each thread of a block writes a number that another one reads, with or without a barrier in between.
void turn_values(const char* barrier) {
  const std::string text = std::string(R"(
extern "C" __global__ void turned(float *x) {
  __shared__ float values[64];
  values[threadIdx.x] = x[threadIdx.x];
  )") + barrier + R"(
  x[threadIdx.x] = values[63 - threadIdx.x];
}
)";
  const rtc::CudaKernel kernel = rtc::CudaModule(text).get_kernel("turned", "float *x");
  const NDArray x = as_in_context(NDArray::from(std::vector<float>(64), {64}), kGpu0);
  for (int i = 0; i < 3; ++i) kernel.launch({x}, kGpu0, {3, 1, 1}, {64, 1, 1});
  as_in_context(x, {}).wait_to_read();
}

TEST(CudaRaces, BarriersOrderTheThreadsOfABlock) { turn_values("__syncthreads();"); }

TEST(CudaRacesDeathTest, ThreadsWithoutABarrierRace) {
#if defined(__SANITIZE_THREAD__)
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(turn_values(""), "data race");
#else
  GTEST_SKIP() << "ThreadSanitizer alone sees it";
#endif
}

}  // namespace
}  // namespace headrace
