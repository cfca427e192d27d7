// A process may end while operations are queued: they run before the libraries that they use are gone.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "op/invoke.h"
#include "tests/support/sanitizers.h"

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

// Computes at its end.
struct Last {
  ~Last() {
    const NDArray ones = full({3}, 1, DType::kFloat32, {});
    for (int i = 0; i < 3; ++i) call("elemwise_add", {ones, call("elemwise_add", {ones, ones})}).wait_to_read();
  }
};

TEST(WorkAtExit, OfDestructorsRuns) {
  if (test::kIsSanitized) GTEST_SKIP() << "sanitizers look for what is lost before the last destructors run";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    full({2}, 1, DType::kFloat32, {}).wait_to_read();
    static const Last last;
    static thread_local const Last last_of_thread;
    std::atexit([] { const Last another; });
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

// The destructors of variables that are older than what the engine knows of the thread come last.
TEST(WorkAtThreadEnd, OfDestructorsRuns) {
  if (test::kIsSanitized) GTEST_SKIP() << "sanitizers end a thread before its last destructors run";
  for (int i = 0; i < 10; ++i) {
    std::thread([] {
      static thread_local const Last last;
      full({2}, 1, DType::kFloat32, {}).wait_to_read();
    }).join();
    call("norm", {full({2}, 1, DType::kFloat32, {})}).wait_to_read();
  }
}

// Threads that nobody joins go on while the process ends, as those of a server do.
void exit_beside_busy_threads() {
  const NDArray x = full({8, 8}, 0.5, DType::kFloat32, {});
  const auto compute = [x] {
    for (;;) {
      call("softmax", {call("dot", {x, x})}, {{"axis", int64_t{1}}}).wait_to_read();
      call("norm", {call("mean", {x}, {{"axis", Shape{0}}})}).wait_to_read();
      call("elemwise_add", {x, x});
    }
  };
  for (int i = 0; i < 3; ++i) std::thread(compute).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::exit(0);
}

TEST(WorkLeftAtExit, OfOtherThreadsDoesNotKeepTheProcess) {
  if (test::kIsSanitized) GTEST_SKIP() << "sanitizers take what other threads hold at the end for lost";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 5; ++i) EXPECT_EXIT(exit_beside_busy_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace headrace
