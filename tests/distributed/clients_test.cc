// What a server does with requests that come again.
#include "distributed/clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/error.hpp"

namespace headrace::distributed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// A stream whose worker hears the replies that come.
struct Told {
  Told(Client& client, uint64_t incarnation, const std::vector<uint64_t>& unanswered, uint64_t last = 0) {
    Greeting greeting;
    greeting.set_protocol(kProtocol);
    greeting.mutable_held();
    greeting.mutable_caller()->set_incarnation(incarnation);
    greeting.mutable_caller()->set_last(last);
    greeting.mutable_caller()->mutable_unanswered()->Assign(unanswered.begin(), unanswered.end());
    client.enter(greeting, connection);
  }

  std::vector<std::string> answers() {
    std::vector<std::string> all;
    while (!frames.empty()) {
      Frame head;
      read(frames.front(), head);
      frames.erase(frames.begin());
      for (const Reply& reply : head.replies()) all.push_back(reply.answer());
      connection->written(true);
    }
    return all;
  }

  std::vector<grpc::ByteBuffer> frames;
  std::shared_ptr<Connection> connection =
      std::make_shared<Connection>([this](const grpc::ByteBuffer* frame) { frames.push_back(*frame); });
};

Request push(uint64_t number) {
  Request request;
  request.set_number(number);
  request.mutable_push();
  return request;
}

Request pull(uint64_t number) {
  Request request;
  request.set_number(number);
  request.mutable_pull();
  return request;
}

Request transfer(uint64_t number) {
  Request request;
  request.set_number(number);
  request.mutable_transfer();
  return request;
}

Reply answer(uint64_t number, const std::string& text) {
  Reply reply;
  reply.set_number(number);
  reply.set_answer(text);
  return reply;
}

Reply value(uint64_t number) {
  Reply reply;
  reply.set_number(number);
  reply.mutable_value();
  return reply;
}

TEST(Clients, AnswerARequestThatComesAgainAsBefore) {
  Client client(0, nullptr);
  Told first(client, 1, {});
  EXPECT_TRUE(client.admit(push(1), *first.connection));
  EXPECT_TRUE(client.admit(push(2), *first.connection));
  client.answer(1, answer(1, "one"), {});
  Told second(client, 1, {1, 2});
  EXPECT_FALSE(client.admit(push(1), *second.connection));
  EXPECT_FALSE(client.admit(push(2), *second.connection));  // its answer is still to come
  EXPECT_TRUE(client.admit(push(3), *second.connection));
  client.answer(1, answer(2, "two"), {});
  EXPECT_THAT(second.answers(), ElementsAre("one", "two"));
}

TEST(Clients, ServeAPullAgain) {
  Client client(0, nullptr);
  Told first(client, 1, {});
  EXPECT_TRUE(client.admit(pull(1), *first.connection));
  Told second(client, 1, {1});
  EXPECT_FALSE(client.admit(pull(1), *second.connection));  // it waits
  client.answer(1, value(1), {});
  Told third(client, 1, {1});
  EXPECT_TRUE(client.admit(pull(1), *third.connection));
}

TEST(Clients, AdmitATransferBeforeRequestsThatWait) {
  Client client(0, nullptr);
  Told first(client, 1, {});
  EXPECT_TRUE(client.admit(transfer(2), *first.connection));
  EXPECT_EQ(client.served().last, 0U);
  EXPECT_TRUE(client.admit(push(1), *first.connection));
  EXPECT_EQ(client.served().last, 2U);
  EXPECT_FALSE(client.admit(transfer(2), *first.connection));  // it waits
  EXPECT_TRUE(client.admit(push(3), *first.connection));
  client.answer(1, value(2), {});
  Told second(client, 1, {2});
  EXPECT_TRUE(client.admit(transfer(2), *second.connection));
}

TEST(Clients, KeepNoAnswersThatHaveCome) {
  Client client(0, nullptr);
  Told first(client, 1, {});
  for (const uint64_t number : {1, 2, 3}) {
    EXPECT_TRUE(client.admit(push(number), *first.connection));
    client.answer(1, answer(number, std::to_string(number)), {});
  }
  Frame told;
  told.add_answered(1);
  client.forget(told, *first.connection);
  EXPECT_THAT(first.answers(), ElementsAre("1", "2", "3"));
  for (const uint64_t number : {1, 2, 3}) EXPECT_FALSE(client.admit(push(number), *first.connection));
  EXPECT_THAT(first.answers(), ElementsAre("2", "3"));
  Told second(client, 1, {3});  // the answer to 2 has come
  for (const uint64_t number : {2, 3}) EXPECT_FALSE(client.admit(push(number), *second.connection));
  EXPECT_THAT(second.answers(), ElementsAre("3"));
}

TEST(Clients, HearTheLatestStreamAlone) {
  Client client(0, nullptr);
  Told first(client, 1, {}), second(client, 1, {});
  EXPECT_FALSE(client.is_latest(*first.connection));
  EXPECT_FALSE(client.admit(push(1), *first.connection));
  EXPECT_TRUE(client.admit(push(1), *second.connection));
}

TEST(Clients, BeginAnewWithANewIncarnation) {
  Client client(0, nullptr);
  Told first(client, 5, {});
  EXPECT_TRUE(client.admit(push(1), *first.connection));
  Told second(client, 6, {});
  EXPECT_TRUE(client.admit(push(1), *second.connection));
  client.answer(5, answer(1, "late"), {});
  client.answer(6, answer(1, "new"), {});
  EXPECT_THAT(first.answers(), IsEmpty());
  EXPECT_THAT(second.answers(), ElementsAre("new"));
  EXPECT_THAT([&] { Told(client, 5, {}); }, ThrowsMessage<Error>(HasSubstr("incarnation 6 of it has come since")));
}

// A backup knows what the primary has told it: the answer to the second request; the third was never told, and the
// answers to the others have come.
TEST(Clients, ServeWhatTheProcessBeforeHasNot) {
  Client client(0, nullptr);
  client.follow(1, 1);
  client.answer(1, answer(1, "one"), {});
  client.follow(1, 2);
  client.answer(1, answer(2, "two"), {});
  client.take_over();
  Told stream(client, 1, {2, 3}, 4);
  EXPECT_FALSE(client.admit(push(2), *stream.connection));
  EXPECT_TRUE(client.admit(push(3), *stream.connection));
  EXPECT_FALSE(client.admit(push(3), *stream.connection));
  EXPECT_FALSE(client.admit(push(4), *stream.connection));
  EXPECT_TRUE(client.admit(push(5), *stream.connection));
  EXPECT_THAT(stream.answers(), ElementsAre("two"));
  EXPECT_EQ(client.owed(), 2U);
}

std::string refusal_of(Clients& clients, bool is_primary, uint64_t epoch) {
  Greeting greeting;
  greeting.set_protocol(kProtocol);
  greeting.mutable_held();
  greeting.mutable_caller()->set_is_primary(is_primary);
  greeting.mutable_caller()->set_epoch(epoch);
  try {
    clients.enter(greeting, std::make_shared<Connection>([](const grpc::ByteBuffer*) {}));
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(Clients, AreServedInOneEpoch) {
  Clients clients(1, nullptr);
  EXPECT_THAT(refusal_of(clients, false, 1), HasSubstr("does not serve yet"));
  EXPECT_EQ(refusal_of(clients, true, 1), "");  // it stands by
  clients.serve(2, true);
  EXPECT_THAT(refusal_of(clients, false, 1), HasSubstr("the worker knows epoch 1 of the server, which is in epoch 2"));
  EXPECT_EQ(refusal_of(clients, false, 2), "");
  EXPECT_THAT(refusal_of(clients, true, 1), HasSubstr("epoch 1 of the server is over"));
  clients.stop();
  EXPECT_THAT(refusal_of(clients, false, 2), HasSubstr("the server ends"));
}

TEST(Clients, RefuseRequestsWithoutThoseBefore) {
  Client client(0, nullptr);
  Told stream(client, 1, {});
  EXPECT_THAT([&] { client.admit(push(4), *stream.connection); },
              ThrowsMessage<Error>(HasSubstr("those from 1 on are not known here")));
}

}  // namespace
}  // namespace headrace::distributed
