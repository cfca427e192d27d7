// What profilers of NVIDIA's are told by NVTX; the stand-in is one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

#include "headrace/devices.hpp"
#include "headrace/ndarray.hpp"
#include "op/invoke.h"
#include "tests/cuda/stand_in/nvtx.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"

namespace headrace {
namespace {

// Null where the toolkit that this was built with has no NVTX.
decltype(&stand_in_count_ranges) range_counter() {
  static void* const library = ::dlopen(STAND_IN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<decltype(&stand_in_count_ranges)>(::dlsym(library, "stand_in_count_ranges"));
}

TEST(CudaProfilerRanges, NameTheOperationsThatAreLaunched) {
  const auto count_ranges = range_counter();
  if (!count_ranges) GTEST_SKIP() << "there is no NVTX";
  const NDArray x = as_in_context(NDArray::from(std::vector<float>{1, 2, 3}, {3}), kGpu0);
  const size_t before = count_ranges("tanh");
  call("tanh", {x}, {}).wait_to_read();
  EXPECT_EQ(count_ranges("tanh"), before + 1);
}

}  // namespace
}  // namespace headrace
