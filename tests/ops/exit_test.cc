// A process may end while operations are queued: they run before the libraries that they use are gone.
#include <gtest/gtest.h>

#include <cstdlib>

#include "op/invoke.h"

namespace headrace {
namespace {

void leave_work_and_exit() {
  const NDArray small = full({64, 64}, 1, DType::kFloat32, {});
  call("dot", {small, small}).wait_to_read();
  NDArray y = full({200, 200}, 1e-3, DType::kFloat32, {});
  for (int64_t i = 0; i < 50; ++i) {
    const NDArray x = full({300 + i, 200}, 1e-3, DType::kFloat32, {});  // a new problem each time
    y = call("slice_axis", {call("dot", {x, y})}, {{"axis", int64_t{0}}, {"begin", int64_t{0}}, {"end", int64_t{200}}});
  }
  std::exit(0);
}

TEST(WorkLeftAtExit, RunsToItsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leave_work_and_exit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace headrace
