#include "distributed/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace headrace::distributed {
namespace {

// Offers more slowly than the owner works, so that it gets to wait.
constexpr auto kBetweenOffers = std::chrono::milliseconds(1);
constexpr auto kAtOnce = [](const Inbox::Job& job) { job(); };

// Does what it takes until it is told to end.
class Owner {
 public:
  explicit Owner(Inbox& inbox) : inbox_(inbox), thread_([this] { run(); }) {}
  // The thread that has done a job that was put.
  std::thread::id end() {
    inbox_.put([this] {
      done_by_ = std::this_thread::get_id();
      is_over_ = true;
    });
    thread_.join();
    return done_by_;
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  void run() {
    while (!is_over_) inbox_.take()();
  }

  Inbox& inbox_;
  bool is_over_ = false;  // these: of who does jobs
  std::thread::id done_by_;
  std::thread thread_;
};

TEST(Inboxes, WhatIsOfferedWaitsForAnOwnerThatIsBusy) {
  Inbox inbox;
  std::vector<int> done;
  inbox.offer([&] { done.push_back(1); }, kAtOnce);  // it has not come yet
  inbox.take()();
  inbox.offer([&] { done.push_back(2); }, kAtOnce);
  inbox.put([&] { done.push_back(3); });
  inbox.offer([&] { done.push_back(4); }, kAtOnce);
  EXPECT_EQ(done, std::vector({1}));
  inbox.take()();
  inbox.take()();
  for (const Inbox::Job& job : inbox.close()) job();
  EXPECT_EQ(done, std::vector({1, 2, 3, 4}));
  inbox.offer([&] { done.push_back(5); }, kAtOnce);
  EXPECT_EQ(done.back(), 5);
}

TEST(Inboxes, WhatIsOfferedToAnOwnerThatWaitsIsDoneByWhoOffers) {
  Inbox inbox;
  Owner owner(inbox);
  std::atomic<std::thread::id> done_by;
  while (done_by.load() != std::this_thread::get_id()) {
    inbox.offer([&] { done_by = std::this_thread::get_id(); }, kAtOnce);
    std::this_thread::sleep_for(kBetweenOffers);
  }
  const std::thread::id id = owner.id();
  EXPECT_EQ(owner.end(), id);
}

TEST(Inboxes, WhatIsPutMeanwhileTheOwnerDoesThen) {
  Inbox inbox;
  Owner owner(inbox);
  bool is_over = false, was_over = false;
  std::atomic<bool> is_done = false;
  const auto offered = [&] {
    inbox.put([&] { was_over = is_over; });
    is_over = true;
    is_done = true;
  };
  while (!is_done) {
    inbox.offer(offered, kAtOnce);
    std::this_thread::sleep_for(kBetweenOffers);
  }
  owner.end();
  EXPECT_TRUE(was_over);
}

TEST(Inboxes, OneThingIsDoneAtATime) {
  constexpr int kEach = 2000;
  Inbox inbox;
  Owner owner(inbox);
  int count = 0;  // without a lock
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < kEach; ++n)
        if ((n + i) % 3 == 0)
          inbox.put([&] { ++count; });
        else
          inbox.offer([&] { ++count; }, kAtOnce);
    });
  for (std::thread& thread : threads) thread.join();
  owner.end();
  EXPECT_EQ(count, 4 * kEach);
}

}  // namespace
}  // namespace headrace::distributed
