// A wall clock that is set while nodes wait: they wait as long as they would have. Needs shifted_clock, preloaded.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "distributed/membership.h"
#include "tests/distributed/cluster.h"
#include "tests/distributed/ears.h"
#include "tests/distributed/proxy.h"

namespace headrace::distributed {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Clocks : public testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("CHAOS_CLOCKS");
    if (!folder) GTEST_SKIP() << "the test distributed.clocks of ctest preloads a clock that can be set";
    path_ = fmt::format("{}/{}", folder, getpid());
  }
  ~Clocks() override {
    if (!path_.empty()) set(0);
  }
  void set(int64_t hours) const {
    const int64_t ahead = hours * 3600 * 1'000'000'000;
    const int file = open(path_.c_str(), O_WRONLY);
    ASSERT_EQ(pwrite(file, &ahead, sizeof ahead, 0), static_cast<ssize_t>(sizeof ahead));
    close(file);
  }
  // Sets it again and again, an hour further each time, until `is_over`.
  void run_away(int direction, const std::function<bool()>& is_over) const {
    for (int64_t hours = direction; !is_over(); hours += direction) set(hours);
  }

 private:
  std::string path_;
};

// A job of two workers; the second reaches the scheduler through a proxy.
class ClocksOfMembers : public Clocks {
 protected:
  void SetUp() override {
    Clocks::SetUp();
    if (IsSkipped()) return;
    job_ = {.role = Role::kWorker, .host = "127.0.0.1", .port = free_port(), .workers = 2, .own_host = "127.0.0.1"};
    scheduler_ = std::thread([this] { run_scheduler(job_); });
    proxy_ = std::make_unique<Proxy>(address_of("127.0.0.1", job_.port));
    auto second = std::async(std::launch::async, [this] { return join(1); });
    workers_[0] = join(0);
    workers_[1] = second.get();
  }
  ~ClocksOfMembers() override {
    workers_[1].reset();
    workers_[0].reset();
    if (scheduler_.joinable()) scheduler_.join();
  }
  std::unique_ptr<Membership> join(int rank) {
    Job own = job_;
    own.rank = rank;
    if (rank == 1) own.port = std::stoi(proxy_->address().substr(proxy_->address().rfind(':') + 1));
    return std::make_unique<Membership>(own, "", ears_[rank].observer());
  }
  std::future<void> leave(int rank) {
    return std::async(std::launch::async, [this, rank] { workers_[rank].reset(); });
  }

  Job job_;
  Ears ears_[2];
  std::thread scheduler_;
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<Membership> workers_[2];
};

TEST_F(ClocksOfMembers, WhoLeavesComesToSaySoWhenTheClockIsSetForwards) {
  proxy_->refuse(true);
  auto leaving = leave(1);
  int times = 0;
  run_away(1, [&] { return leaving.wait_for(milliseconds(10)) == std::future_status::ready || ++times == 30; });
  proxy_->refuse(false);
  leaving.get();
  EXPECT_EQ(ears_[0].await("worker 1"), "worker 1 has ended");
}

TEST_F(ClocksOfMembers, WhoCannotSaySoLeavesAllTheSameWhenItIsSetBackwards) {
  proxy_->refuse(true);
  auto leaving = leave(1);
  run_away(-1, [&] { return leaving.wait_for(milliseconds(10)) == std::future_status::ready; });
  EXPECT_THAT(ears_[1].all(), Not(Contains(HasSubstr("cannot be reached"))));
}

TEST_F(ClocksOfMembers, MeetAgainWhenConnectionsBreakAfterItWasSetBackwards) {
  for (int i = 1; i <= 5; ++i) {
    set(-i);
    proxy_->cut();
    auto second = std::async(std::launch::async, [this] { workers_[1]->barrier(); });
    workers_[0]->barrier();
    second.get();
  }
}

}  // namespace
}  // namespace headrace::distributed
