// Who waits for a backup, and what it hears.
#include "distributed/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>

#include "distributed/channel.h"
#include "distributed/exchange.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Stands by, and writes down what it hears.
class Hearing final : public Server::WithRawCallbackMethod_Exchange<Server::Service> {
 public:
  Stream* Exchange(grpc::CallbackServerContext*) override {
    return open_stream(clients_, nullptr, [this](std::vector<Asked> asked, const std::function<void()>& next) {
      for (const Asked& one : asked) {
        if (!one.is_admitted()) continue;
        {
          std::lock_guard guard(mutex_);
          heard_.push_back(one.request.repeated().command().body());
        }
        one.asker.answer(grpc::Status::OK);
      }
      next();
    });
  }
  std::vector<std::string> heard() {
    std::lock_guard guard(mutex_);
    return heard_;
  }
  void serve() { clients_.serve(2, true); }

 private:
  Clients clients_{1, nullptr};
  std::mutex mutex_;
  std::vector<std::string> heard_;
};

Request telling(const std::string& text) {
  Request request;
  request.mutable_repeated()->mutable_command()->set_body(text);
  return request;
}

Backup::Told told(const std::string& text) {
  Backup::Told all(1);
  all[0].first = telling(text);
  return all;
}

class BackupTest : public testing::Test {
 protected:
  void begin() {
    const Job job{.role = Role::kServer, .workers = 1, .servers = 1, .replicas = 2, .retry_ms = 60'000};
    backup_.begin(job, address_of("127.0.0.1", port_), {.incarnation = 5, .epoch = 1, .is_primary = true}, nullptr);
  }
  // Waits until the backup knows all that has a number.
  void await() {
    std::promise<void> known;
    backup_.after([&] { known.set_value(); });
    known.get_future().wait();
  }

  Hearing hearing_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_ = serve_at({.role = Role::kServer}, "127.0.0.1", port_, hearing_);
  std::promise<std::string> failure_;
  Backup backup_{[this](const std::string& why) { failure_.set_value(why); }};
};

TEST_F(BackupTest, HearsInTheOrderOfTheNumbers) {
  begin();
  const uint64_t first = backup_.reserve(), second = backup_.reserve();
  backup_.fill(second, told("second"));
  std::atomic<bool> is_known{false};
  backup_.after([&] { is_known = true; });
  backup_.tell(telling("third"), {});
  EXPECT_THAT(hearing_.heard(), testing::IsEmpty());
  EXPECT_FALSE(is_known);
  backup_.fill(first, told("first"));
  await();
  EXPECT_TRUE(is_known);
  EXPECT_THAT(hearing_.heard(), ElementsAre("first", "second", "third"));
}

TEST_F(BackupTest, NobodyWaitsForOneThatIsNotThere) {
  const uint64_t before = backup_.reserve();
  await();
  begin();
  backup_.fill(before, told("before"));  // nobody was there to be told
  backup_.tell(telling("now"), {});
  await();
  EXPECT_THAT(hearing_.heard(), ElementsAre("now"));
  const uint64_t unfilled = backup_.reserve();
  std::atomic<bool> is_released{false};
  backup_.after([&] { is_released = true; });
  EXPECT_FALSE(is_released);
  backup_.end();
  EXPECT_TRUE(is_released);
  backup_.fill(unfilled, told("late"));
  await();
  EXPECT_THAT(hearing_.heard(), ElementsAre("now"));
}

TEST_F(BackupTest, OneThatServesIsNotTold) {
  begin();
  backup_.tell(telling("first"), {});
  await();
  hearing_.serve();
  backup_.tell(telling("second"), {});
  std::atomic<bool> is_released{false};
  backup_.after([&] { is_released = true; });
  EXPECT_THAT(failure_.get_future().get(), HasSubstr("of the server is over"));
  EXPECT_FALSE(is_released);
  EXPECT_THAT(hearing_.heard(), testing::Contains("first"));
  backup_.after([&] { is_released = true; });
  backup_.end();
  EXPECT_FALSE(is_released);
}

}  // namespace
}  // namespace headrace::distributed
