// Workers that come and go while a job runs, as the scheduler and the others see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "distributed/membership.h"
#include "tests/distributed/cluster.h"
#include "tests/distributed/proxy.h"

namespace headrace::distributed {
namespace {

using testing::HasSubstr;

// A job that begins with two workers, and may have three. The second reaches the scheduler through a proxy.
class ElasticGathering : public testing::Test {
 protected:
  explicit ElasticGathering(Elastic elastic = {1, 3}, bool asynchronous = true)
      : job_{.role = Role::kWorker,
             .host = "127.0.0.1",
             .port = free_port(),
             .workers = 2,
             .own_host = "127.0.0.1",
             .silence_ms = 6'000,  // a machine may pause
             .elastic = elastic,
             .asynchronous = asynchronous},
        scheduler_(std::async(std::launch::async, [this] { return reason_of([this] { run_scheduler(job_); }); })),
        proxy_(address_of("127.0.0.1", job_.port)) {}
  ~ElasticGathering() override {
    for (auto& worker : workers_) worker.reset();
    if (scheduler_.valid()) scheduler_.wait();
  }

  void begin() {
    auto second = std::async(std::launch::async, [this] { return begin_as(1); });
    workers_[0] = begin_as(0);
    workers_[1] = second.get();
  }
  std::unique_ptr<Membership> begin_as(int rank) {
    Job own = job_;
    own.rank = rank;
    if (rank == 1) own.port = std::stoi(proxy_.address().substr(proxy_.address().rfind(':') + 1));
    return std::make_unique<Membership>(own, "", rank == 1 ? ears_ : Observer());
  }
  // `place`: that it would like to have.
  std::unique_ptr<Membership> join(int place = -1) {
    Job own{.role = Role::kWorker, .host = job_.host, .port = job_.port, .own_host = job_.own_host};
    own.rank = place;
    own.joins = true;
    own.asynchronous = job_.asynchronous;
    return std::make_unique<Membership>(own, "", Observer());
  }
  static void await(const std::function<bool()>& is_so) {
    while (!is_so()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  bool has_heard(const std::string& text) {
    std::lock_guard guard(mutex_);
    return heard_.find(text) != heard_.npos;
  }

  const Job job_;
  std::mutex mutex_;
  std::string heard_;  // by worker 1; guarded by mutex_
  const Observer ears_ = {.ended = [this](const std::string& why) {
    std::lock_guard guard(mutex_);
    heard_ += why;
  }};
  std::future<std::string> scheduler_;  // why it has ended; empty: well
  Proxy proxy_;
  std::unique_ptr<Membership> workers_[3];
};

TEST_F(ElasticGathering, AWorkerTakesThePlaceOfOneThatHasEnded) {
  begin();
  EXPECT_TRUE(workers_[0]->is_open());
  EXPECT_FALSE(workers_[0]->has_joined());
  const uint64_t before = workers_[0]->incarnation();
  workers_[0].reset();
  workers_[0] = join();
  EXPECT_EQ(workers_[0]->rank(), 0);
  EXPECT_EQ(workers_[0]->workers(), 2);
  EXPECT_TRUE(workers_[0]->has_joined());
  EXPECT_GT(workers_[0]->incarnation(), before);
  EXPECT_EQ(workers_[1]->lost_workers(), 0);
}

TEST_F(ElasticGathering, MoreComeUpToTheMost) {
  begin();
  workers_[2] = join();
  EXPECT_EQ(workers_[2]->rank(), 2);
  EXPECT_EQ(workers_[2]->workers(), 3);
  await([&] { return workers_[0]->workers() == 3; });
  EXPECT_THAT(reason_of([&] { join(); }), HasSubstr("the job has 3 workers, as many as it may have"));
  workers_[2].reset();
  await([&] { return workers_[0]->workers() == 2; });
}

TEST_F(ElasticGathering, OfTwoWhoComeForOnePlaceOneGetsIt) {
  begin();
  auto other = std::async(std::launch::async, [&] { return reason_of([&] { workers_[2] = join(); }); });
  std::unique_ptr<Membership> one;
  const std::string why = reason_of([&] { one = join(); }) + other.get();
  EXPECT_THAT(why, HasSubstr("as many as it may have"));
  EXPECT_NE(one == nullptr, workers_[2] == nullptr);
}

TEST_F(ElasticGathering, BarriersAreAmongThoseWhoAreThere) {
  begin();
  for (int i = 0; i < 2; ++i) {
    auto other = std::async(std::launch::async, [&] { workers_[1]->barrier(); });
    workers_[0]->barrier();
    other.get();
  }
  workers_[2] = join();
  auto first = std::async(std::launch::async, [&] { workers_[0]->barrier(); });
  auto third = std::async(std::launch::async, [&] { workers_[2]->barrier(); });
  EXPECT_NE(third.wait_for(std::chrono::milliseconds(20)), std::future_status::ready);
  workers_[1].reset();  // who waits goes on without it
  first.get();
  third.get();
}

TEST_F(ElasticGathering, WhoWasLostIsReplacedAndRefusedLater) {
  begin();
  proxy_.refuse(true);
  await([&] { return workers_[0]->lost_workers() == 1; });
  EXPECT_EQ(workers_[0]->workers(), 1);
  workers_[2] = join();
  EXPECT_EQ(workers_[2]->rank(), 1);
  await([&] { return workers_[0]->lost_workers() == 0 && workers_[0]->workers() == 2; });
  proxy_.refuse(false);
  await([&] { return has_heard("worker 1 was given up"); });
  EXPECT_THAT(reason_of([&] { workers_[1]->barrier(); }), HasSubstr("worker 1 was given up"));
}

TEST_F(ElasticGathering, AWorkerThatIsSaidToHaveEndedIsNotWaitedForWhenItIsAway) {
  begin();
  EXPECT_EQ((workers_[2] = join(1))->rank(), 2);  // it is there
  workers_[2].reset();
  proxy_.refuse(true);
  std::unique_ptr<Membership> other;
  await([&] { return (other = join(1))->rank() == 1; });
  await([&] { return workers_[0]->workers() == 2; });
  proxy_.refuse(false);
  await([&] { return has_heard("worker 1 was given up"); });
}

TEST_F(ElasticGathering, ItIsKnownHowManyPlacesThereAre) {
  begin();
  workers_[2] = join();
  workers_[1].reset();  // the part of worker 1 is nobody's, that of worker 2 stays its own
  await([&] { return workers_[0]->workers() == 3; });
  EXPECT_EQ(workers_[0]->lost_workers(), 0);
}

TEST_F(ElasticGathering, WhoComesEarlyIsSeatedBehindTheOthers) {
  auto early = std::async(std::launch::async, [&] { return join(); });
  workers_[1] = nullptr;
  auto second = std::async(std::launch::async, [this] { return begin_as(1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  workers_[0] = begin_as(0);
  workers_[1] = second.get();
  workers_[2] = early.get();
  EXPECT_EQ(workers_[2]->rank(), 2);
  await([&] { return workers_[0]->workers() == 3; });
}

class TwoAtLeast : public ElasticGathering {
 protected:
  TwoAtLeast() : ElasticGathering({2, 3}) {}
};

TEST_F(TwoAtLeast, FewerEndTheJob) {
  begin();
  proxy_.refuse(true);
  const std::string why = reason_of([&] { workers_[0]->barrier(); });
  EXPECT_THAT(why, HasSubstr("worker 1 was lost, and 1 of at least 2 workers are left"));
  proxy_.refuse(false);
  workers_[0].reset();
  workers_[1].reset();
  EXPECT_THAT(scheduler_.get(), HasSubstr("the job ends: worker 1 was lost"));
}

class Synchronous : public ElasticGathering {
 protected:
  Synchronous() : ElasticGathering({1, 3}, false) {}
};

TEST_F(Synchronous, NobodyJoinsRounds) {
  begin();
  EXPECT_FALSE(workers_[0]->is_open());
  EXPECT_THAT(reason_of([&] { join(); }), HasSubstr("its rounds are of the workers that were there when it began"));
}

class NotElastic : public ElasticGathering {
 protected:
  NotElastic() : ElasticGathering({}) {}
};

TEST_F(NotElastic, NobodyJoins) {
  begin();
  EXPECT_THAT(reason_of([&] { join(); }), HasSubstr("the job is not elastic: nobody joins it"));
}

TEST_F(ElasticGathering, WhoJoinsRunsTheSameProgram) {
  begin();
  Job other{.role = Role::kWorker, .host = job_.host, .port = job_.port, .own_host = job_.own_host};
  other.joins = true;
  EXPECT_THAT(reason_of([&] { Membership(other, "", Observer()); }),
              HasSubstr("makes a synchronous store first, those of the job an asynchronous one"));
}

}  // namespace
}  // namespace headrace::distributed
