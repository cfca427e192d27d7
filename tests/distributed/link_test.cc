// A worker's conversation with a server that answers every request by its number.
#include "distributed/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "distributed/channel.h"
#include "distributed/exchange.h"
#include "distributed/protocol.grpc.pb.h"

namespace headrace::distributed {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Answering final : public Server::WithRawCallbackMethod_Exchange<Server::Service> {
 public:
  explicit Answering(uint64_t epoch = 0) { clients_.serve(epoch, epoch > 0); }

  Stream* Exchange(grpc::CallbackServerContext*) override {
    return open_stream(clients_, nullptr, [](std::vector<Asked> asked, const std::function<void()>& next) {
      for (const Asked& one : asked)
        if (one.is_admitted()) one.asker.answer(std::to_string(one.request.number()));
      next();
    });
  }

 private:
  Clients clients_{2, nullptr};
};

Job job_of(Role role) { return {.role = role, .workers = 2, .servers = 1, .retry_ms = 300}; }

struct Answer {
  grpc::Status status;
  std::string text;
};

Answer ask(Link& link, Request request = {}) {
  std::promise<Answer> promise;
  if (request.what_case() == Request::WHAT_NOT_SET) request.mutable_command();
  link.ask(std::move(request), {}, [&](const grpc::Status& status, Reply&& reply, Elements&&) {
    promise.set_value({status, reply.answer()});
  });
  return promise.get_future().get();
}

class LinkTest : public testing::Test {
 protected:
  std::unique_ptr<Link> link_of(uint32_t rank, uint64_t incarnation) {
    return std::make_unique<Link>(job_of(Role::kWorker), address_of("127.0.0.1", port_), Identity{rank, incarnation},
                                  nullptr);
  }

  Answering service_;
  int port_ = 0;
  const std::unique_ptr<grpc::Server> server_ = serve_at(job_of(Role::kServer), "127.0.0.1", port_, service_);
};

TEST_F(LinkTest, RequestsAreNumberedForEachWorker) {
  const auto first = link_of(0, 7), second = link_of(1, 7);
  EXPECT_EQ(ask(*first).text, "1");
  EXPECT_EQ(ask(*first).text, "2");
  EXPECT_EQ(ask(*second).text, "1");
}

TEST_F(LinkTest, OnlyTheNewestIncarnationIsServed) {
  const auto link = link_of(0, 7);
  EXPECT_EQ(ask(*link).text, "1");
  const auto older = link_of(0, 6);
  EXPECT_THAT(ask(*older).status.error_message(),
              AllOf(HasSubstr("worker 0 speaks as incarnation 6"), HasSubstr("incarnation 7 of it")));
  EXPECT_EQ(ask(*link).text, "2");
  const auto newer = link_of(0, 8);
  EXPECT_EQ(ask(*newer).text, "1");
  EXPECT_THAT(ask(*link).status.error_message(), HasSubstr("has taken its place"));
}

TEST_F(LinkTest, ARankThatTheJobDoesNotHaveIsRefused) {
  EXPECT_THAT(ask(*link_of(5, 1)).status.error_message(), HasSubstr("rank 5 speaks, the job has 2 workers"));
}

TEST_F(LinkTest, WhoCannotBeReachedIsNamedAfterATime) {
  server_->Shutdown();
  const auto link = link_of(0, 7);
  Request push;
  push.mutable_push()->mutable_place()->mutable_key()->set_text("w");
  EXPECT_THAT(ask(*link, push).status.error_message(),
              AllOf(HasSubstr("cannot be reached for 0.3 seconds"), HasSubstr(address_of("127.0.0.1", port_)),
                    HasSubstr("1 requests wait for an answer, the first is the push of key 'w'"),
                    HasSubstr("check that the server runs"), HasSubstr("HEADRACE_RETRY_SECONDS")));
  EXPECT_THAT(ask(*link).status.error_message(), HasSubstr("cannot be reached"));  // and from then on
}

// Another process serves in the next epoch.
TEST_F(LinkTest, WhatHasNoAnswerIsRepeatedWhereTheServerIsNow) {
  Answering successor(1);
  int port = 0;
  const std::unique_ptr<grpc::Server> other = serve_at(job_of(Role::kServer), "127.0.0.1", port, successor);
  const auto link = link_of(0, 7);
  EXPECT_EQ(ask(*link).text, "1");
  server_->Shutdown(std::chrono::system_clock::now());
  auto waiting = std::async(std::launch::async, [&] { return ask(*link); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  link->move(address_of("127.0.0.1", port), 1);
  EXPECT_EQ(waiting.get().text, "2");
}

TEST_F(LinkTest, AServerOfAnotherEpochIsAskedAgain) {
  Answering successor(2);
  int port = 0;
  const std::unique_ptr<grpc::Server> other = serve_at(job_of(Role::kServer), "127.0.0.1", port, successor);
  const auto link = link_of(0, 7);
  link->move(address_of("127.0.0.1", port), 1);
  auto waiting = std::async(std::launch::async, [&] { return ask(*link); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  link->move(address_of("127.0.0.1", port), 2);
  EXPECT_EQ(waiting.get().text, "1");
}

TEST_F(LinkTest, GivingUpAnswersWhoWaits) {
  server_->Shutdown();
  Job job = job_of(Role::kWorker);
  job.retry_ms = 3'600'000;
  Link link(job, address_of("127.0.0.1", port_), {}, nullptr);
  std::promise<std::string> told;
  link.ask({}, {}, [&](const grpc::Status& status, Reply&&, Elements&&) { told.set_value(status.error_message()); });
  link.give_up("server 0 was lost");
  EXPECT_EQ(told.get_future().get(), "server 0 was lost");
}

}  // namespace
}  // namespace headrace::distributed
