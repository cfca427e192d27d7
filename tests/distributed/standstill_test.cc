// Workers that wait for each other, as they and the scheduler find out.
#include "distributed/standstill.h"

#include <gmock/gmock.h>

#include <array>
#include <future>

#include "distributed/membership.h"
#include "tests/distributed/cluster.h"
#include "tests/distributed/ears.h"

namespace headrace::distributed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::milliseconds kShort{20};

Standing standing(std::string what, const std::vector<uint32_t>& awaited) {
  Standing made;
  made.set_wait(1);
  made.set_what(std::move(what));
  made.add_waits()->mutable_workers()->Add(awaited.begin(), awaited.end());
  return made;
}

std::vector<uint32_t> awaited_in(const Standing& standing, int wait = 0) {
  const auto& workers = standing.waits(wait).workers();
  return {workers.begin(), workers.end()};
}

// The workers of a job, with a scheduler.
template <int kWorkers>
class Gathered {
 public:
  Gathered() {
    std::vector<std::future<std::unique_ptr<Membership>>> joining;
    for (int rank = 0; rank < kWorkers; ++rank)
      joining.push_back(std::async(std::launch::async, [&, rank] {
        Job own = job_;
        own.rank = rank;
        return std::make_unique<Membership>(own, "", ears[static_cast<size_t>(rank)].observer());
      }));
    for (auto& one : joining) workers.push_back(one.get());
  }
  ~Gathered() {
    workers.clear();
    EXPECT_THAT(scheduler_.get(), IsEmpty());
  }

  std::future<std::string> meeting_of(size_t rank) {
    return std::async(std::launch::async, [this, rank] { return reason_of([&] { workers[rank]->barrier(); }); });
  }

  std::array<Ears, kWorkers> ears;
  std::vector<std::unique_ptr<Membership>> workers;

 private:
  const Job job_{.role = Role::kWorker,
                 .host = "127.0.0.1",
                 .port = free_port(),
                 .workers = kWorkers,
                 .own_host = "127.0.0.1",
                 .silence_ms = 6'000};  // a machine may pause
  std::future<std::string> scheduler_ =
      std::async(std::launch::async, [this] { return reason_of([&] { run_scheduler(job_); }); });
};

Standing meets() {
  Standing made = standing("waits at a barrier", {});
  made.set_meets(true);
  return made;
}

TEST(Standing, WorkersThatWaitForEachOtherAreToldSoAndOthersAreNot) {
  Gathered<5> job;
  auto meeting = job.meeting_of(0);
  Standing either = standing("waits for worker 0 or for worker 4", {0});
  *either.add_waits() = standing("", {4}).waits(0);
  while (job.ears[1].all().empty()) {  // worker 4 says nothing: it goes on, and so will worker 3
    job.workers[3]->stand(either);
    job.workers[0]->stand(meets());
    job.workers[2]->stand(standing("waits for worker 1", {1}));
    job.workers[1]->stand(standing("waits for worker 0", {0}));
    std::this_thread::sleep_for(kShort);
  }
  const char* const all = "worker 0 waits at a barrier; worker 1 waits for worker 0; worker 2 waits for worker 1;";
  EXPECT_THAT(meeting.get(), HasSubstr(all));
  for (const size_t rank : {0, 1, 2}) EXPECT_THAT(job.ears[rank].await("none goes on"), HasSubstr(all));
  for (const size_t rank : {3, 4}) EXPECT_THAT(job.ears[rank].all(), IsEmpty());
}

TEST(Standing, WhatSaysThatItIsAtABarrierWhichIsOverGoesOn) {
  Gathered<2> job;
  auto first = job.meeting_of(0), second = job.meeting_of(1);
  EXPECT_THAT(first.get(), IsEmpty());
  EXPECT_THAT(second.get(), IsEmpty());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // longer than it takes to believe it
  while (std::chrono::steady_clock::now() < end) {
    job.workers[0]->stand(meets());
    std::this_thread::sleep_for(kShort);
  }
  EXPECT_THAT(job.ears[0].all(), IsEmpty());
}

// A standstill that keeps what it has told.
class StandstillTest : public testing::Test {
 protected:
  Standing told() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.has_value(); });
    return *told_;
  }

  static Standstill::Wait wait(std::string what) {
    return {.what = std::move(what), .arrive = [] { return true; }};
  }
  static Standstill::Wait wait_of_task(std::string what, std::function<std::vector<uint32_t>()> awaited) {
    Standstill::Wait made = wait(std::move(what));
    made.awaited = std::move(awaited);
    made.holds_program = false;
    return made;
  }

  std::atomic<bool> rests_{true}, waits_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Standing> told_;  // guarded by mutex_
  std::atomic<int> looked_{0};    // whether it stands
  Standstill standstill_{[this] {
                           ++looked_;
                           return rests_.load();
                         },
                         [this] { return waits_.load(); },
                         [this](const Standing& one) {
                           std::lock_guard guard(mutex_);
                           told_ = one;
                           changed_.notify_all();
                         }};

  // It has looked again, and told nothing.
  void expect_silence() {
    const int before = looked_;
    while (looked_ < before + 2) std::this_thread::sleep_for(kShort);
    std::lock_guard guard(mutex_);
    EXPECT_FALSE(told_.has_value());
  }
};

TEST_F(StandstillTest, AProgramThatWaitsSaysForWhat) {
  const Standstill::Scope waits(standstill_, wait("waits at a barrier"));
  const Standing found = told();
  EXPECT_TRUE(found.meets());
  EXPECT_EQ(found.what(), "waits at a barrier");
}

TEST_F(StandstillTest, AProgramWhoseTasksRunMayDoMore) {
  rests_ = false;
  const Standstill::Scope waits(standstill_, wait("waits at a barrier"));
  expect_silence();
}

TEST_F(StandstillTest, ATaskThatWaitsCountsWhereTheProgramWaitsForTasks) {
  const Standstill::Scope waits(standstill_, wait_of_task("waits for key 3", [] {
                                  return std::vector<uint32_t>{2, 4};
                                }));
  expect_silence();
  waits_ = true;
  EXPECT_THAT(awaited_in(told()), testing::ElementsAre(2, 4));
}

TEST_F(StandstillTest, OfSeveralTasksOneThatGoesOnIsEnough) {
  waits_ = true;
  std::atomic<bool> goes_on{true};
  const Standstill::Scope stuck(standstill_, wait_of_task("waits", [] { return std::vector<uint32_t>{1}; }));
  const Standstill::Scope other(standstill_, wait_of_task("receives", [&] {
                                  return goes_on ? std::vector<uint32_t>() : std::vector<uint32_t>{1};
                                }));
  expect_silence();
  goes_on = false;
  EXPECT_EQ(told().what(), "receives");
}

}  // namespace
}  // namespace headrace::distributed
