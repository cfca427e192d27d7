#include "distributed/long_waits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace headrace::distributed {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LongWaits, AreToldOnce) {
  testing::internal::CaptureStderr();
  std::atomic<int> barriers = 0, pulls = 0;
  {
    LongWaits all(milliseconds(20));
    const LongWait barrier([&] { return fmt::format("barrier {}", ++barriers); }, all);
    while (barriers == 0) std::this_thread::yield();
    const LongWait pull([&] { return fmt::format("pull {}", ++pulls); }, all);
    while (pulls == 0) std::this_thread::yield();
  }
  EXPECT_EQ(barriers, 1);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("for 0.02 seconds: barrier 1\n"));
  EXPECT_THAT(told, HasSubstr("for 0.02 seconds: pull 1\n"));
}

TEST(LongWaits, OfAMomentAreNot) {
  testing::internal::CaptureStderr();
  {
    LongWaits all(std::chrono::hours(1)), none(milliseconds(0));
    const LongWait wait([] { return "a barrier"; }, all), other([] { return "a pull"; }, none);
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

}  // namespace
}  // namespace headrace::distributed
