#include "distributed/leadership.h"

#include <gmock/gmock.h>

#include <future>

#include "tests/distributed/etcd.h"

namespace headrace::distributed {
namespace {

using std::chrono::milliseconds;

class LeadershipTest : public EtcdTest {
 protected:
  static Kept kept(uint64_t meetings, const std::string& address) {
    Kept kept{.meetings = meetings};
    kept.state.add_seats()->set_address(address);
    return kept;
  }
  // Until `lost` has a value; something is kept.
  static void lead(Leadership& leadership, std::promise<void>& lost) {
    ASSERT_TRUE(leadership.await());
    leadership.hold([&] { lost.set_value(); });
    EXPECT_TRUE(leadership.keep(kept(1, "a:1")));
  }
};

TEST_F(LeadershipTest, AnotherOneGoesOnAndTheFormerKeepsNothing) {
  const Job jobs[] = {job(), job(), job(), job("another")};
  Leadership first(jobs[0]), second(jobs[1]), third(jobs[2]), of_another(jobs[3]);
  ASSERT_TRUE(first.await());
  first.hold([] {});
  EXPECT_TRUE(first.keep(kept(2, "a:1")));
  EXPECT_TRUE(first.keep(kept(3, "a:1")));
  auto waiting = std::async(std::launch::async, [&] { return second.await(); });
  EXPECT_TRUE(of_another.await());
  EXPECT_EQ(of_another.kept().meetings, 0U);
  EXPECT_NE(waiting.wait_for(milliseconds(3000)), std::future_status::ready);  // longer than a lease
  first.resign();
  ASSERT_TRUE(waiting.get());
  EXPECT_EQ(second.kept().meetings, 3U);
  EXPECT_EQ(second.kept().state.seats(0).address(), "a:1");
  EXPECT_FALSE(first.keep(kept(4, "b:1")));
  second.hold([] {});
  EXPECT_TRUE(second.keep(kept(4, "c:1")));
  second.finish();
  EXPECT_FALSE(third.await());
  EXPECT_FALSE(first.await());
}

TEST_F(LeadershipTest, AShortAbsenceOfEtcdChangesNothing) {
  const Job own = job();
  Leadership leadership(own);
  std::promise<void> lost;
  ASSERT_NO_FATAL_FAILURE(lead(leadership, lost));
  kill();
  auto keeping = std::async(std::launch::async, [&] { return leadership.keep(kept(2, "a:1")); });
  EXPECT_NE(keeping.wait_for(milliseconds(300)), std::future_status::ready);
  start();
  EXPECT_TRUE(keeping.get());
  EXPECT_NE(lost.get_future().wait_for(milliseconds(0)), std::future_status::ready);
}

TEST_F(LeadershipTest, ALongAbsenceOfEtcdEndsIt) {
  const Job own = job();
  Leadership leadership(own);
  std::promise<void> lost;
  ASSERT_NO_FATAL_FAILURE(lead(leadership, lost));
  stop(true);
  auto keeping = std::async(std::launch::async, [&] { return leadership.keep(kept(2, "a:1")); });
  lost.get_future().wait();
  EXPECT_FALSE(keeping.get());
  leadership.resign();
  auto waiting = std::async(std::launch::async, [&] { return leadership.await(); });
  EXPECT_NE(waiting.wait_for(milliseconds(300)), std::future_status::ready);
  stop(false);
  ASSERT_TRUE(waiting.get());
  EXPECT_GE(leadership.kept().meetings, 1U);
  leadership.hold([] {});
  EXPECT_TRUE(leadership.keep(kept(3, "a:1")));
}

}  // namespace
}  // namespace headrace::distributed
