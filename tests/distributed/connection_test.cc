// Two ends of a stream in one process: what one writes, the other receives.
#include "distributed/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "headrace/error.hpp"

namespace headrace::distributed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

class End {
 public:
  explicit End(std::shared_ptr<OwnHeap> heap) : loans(std::make_shared<Loans>(std::move(heap))) { begin(); }

  // Another stream.
  void begin() {
    if (connection) connection->close();
    written_.clear();
    connection = std::make_shared<Connection>([this](const grpc::ByteBuffer* frame) { written_.push_back(*frame); });
    connection->begin(loans);
  }

  // Moves what was written to the other end; how many frames.
  size_t deliver_to(End& other) {
    std::vector<grpc::ByteBuffer> frames = std::exchange(written_, {});
    for (const grpc::ByteBuffer& frame : frames) {
      other.receive(frame);
      connection->written(true);
    }
    return frames.size();
  }
  void receive(const grpc::ByteBuffer& frame) {
    connection->receive(
        frame,
        {.greeting = [this](const Greeting& greeting) { connection->hear(greeting); },
         .request = [this](Request&& request,
                           Elements&& elements) { requests.emplace_back(std::move(request), std::move(elements)); },
         .reply = [this](Reply&& reply,
                         Elements&& elements) { replies.emplace_back(std::move(reply), std::move(elements)); },
         .answered = [this](const Frame& head) { answered.assign(head.answered().begin(), head.answered().end()); }});
  }

  const std::shared_ptr<Loans> loans;
  std::shared_ptr<Connection> connection;
  std::vector<uint64_t> answered;
  std::vector<std::pair<Request, Elements>> requests;
  std::vector<std::pair<Reply, Elements>> replies;

 private:
  std::vector<grpc::ByteBuffer> written_;
};

void settle(End& worker, End& server) {
  while (worker.deliver_to(server) + server.deliver_to(worker) > 0) {
  }
}

void greet(End& worker, End& server) {
  worker.connection->greet({});
  settle(worker, server);
}

Request push_of(int64_t key) {
  Request request;
  request.mutable_push()->mutable_place()->mutable_key()->set_number(key);
  return request;
}

std::string text_of(const Elements& elements) {
  std::string text(elements.size(), '\0');
  elements.copy_to(text.data());
  return text;
}

TEST(Connections, CarryMessagesWithElementsInOrder) {
  End worker({}), server({});
  greet(worker, server);
  worker.connection->send(push_of(1), {.elements = Elements({grpc::Slice("one"), grpc::Slice(" and a half")})});
  worker.connection->flush();
  worker.connection->send(push_of(2));
  worker.connection->flush();
  worker.connection->send(push_of(3), {.elements = Elements({grpc::Slice("three")})});
  worker.connection->flush();
  EXPECT_EQ(worker.deliver_to(server), 1);
  EXPECT_EQ(worker.deliver_to(server), 1);  // what had to wait goes together
  EXPECT_EQ(worker.deliver_to(server), 0);
  ASSERT_THAT(server.requests, SizeIs(3));
  EXPECT_EQ(text_of(server.requests[0].second), "one and a half");
  EXPECT_EQ(text_of(server.requests[1].second), "");
  EXPECT_EQ(text_of(server.requests[2].second), "three");
  EXPECT_EQ(server.requests[2].first.push().place().key().number(), 3);
}

TEST(Connections, LendMemoryToEndsThatSeeIt) {
  End worker(OwnHeap::make()), server(OwnHeap::make());
  EXPECT_EQ(worker.connection->block_for(100'000), nullptr);  // nobody has been greeted
  greet(worker, server);
  EXPECT_TRUE(worker.connection->is_greeted());
  for (End* end : {&worker, &server}) EXPECT_EQ(end->connection->block_for(Connection::kLeastInHeap - 1), nullptr);
  BlockPtr block = worker.connection->block_for(100'000);
  ASSERT_NE(block, nullptr);
  const std::weak_ptr<const Block> lent = block;
  std::memset(block->data(), 'x', 100'000);
  worker.connection->send(push_of(1), {.block = std::move(block), .bytes = 100'000});
  worker.connection->flush();
  settle(worker, server);
  ASSERT_THAT(server.requests, SizeIs(1));
  EXPECT_EQ(text_of(server.requests[0].second), std::string(100'000, 'x'));
  EXPECT_FALSE(lent.expired());
  server.requests.clear();
  server.connection->send(Reply());  // tells by the way what was read
  server.connection->flush();
  settle(worker, server);
  EXPECT_TRUE(lent.expired());
}

TEST(Connections, WithoutAHeapOnOneSideSendPieces) {
  End worker(OwnHeap::make()), server({});
  greet(worker, server);
  EXPECT_TRUE(worker.connection->is_greeted());
  EXPECT_EQ(worker.connection->block_for(100'000), nullptr);
  EXPECT_EQ(server.connection->block_for(100'000), nullptr);
}

TEST(Connections, WhatWasLentStaysLentWhenAStreamBreaks) {
  End worker(OwnHeap::make()), server(OwnHeap::make());
  greet(worker, server);
  const auto send = [&] {
    BlockPtr block = worker.connection->block_for(100'000);
    std::weak_ptr<const Block> lent = block;
    worker.connection->send(push_of(1), {.block = std::move(block), .bytes = 100'000});
    worker.connection->flush();
    return lent;
  };
  const std::weak_ptr<const Block> read = send();
  settle(worker, server);
  const std::weak_ptr<const Block> unread = send();  // its frame is lost
  worker.begin();
  server.begin();
  greet(worker, server);
  EXPECT_FALSE(read.expired());
  EXPECT_TRUE(unread.expired());
  server.requests.clear();
  server.connection->send(Reply());
  server.connection->flush();
  settle(worker, server);
  EXPECT_TRUE(read.expired());
}

TEST(Connections, AnEarlierStreamReadsNothingMore) {
  End worker(OwnHeap::make()), server(OwnHeap::make());
  greet(worker, server);
  const std::shared_ptr<Connection> earlier = server.connection;
  Frame late;
  late.mutable_greeting();
  Array& array = *late.add_requests()->mutable_push()->mutable_value();
  array.set_place(4096);
  array.set_bytes(8);
  server.begin();
  late.clear_greeting();
  EXPECT_THAT([&] { earlier->receive(written(late, {}), {}); },
              ThrowsMessage<Error>(HasSubstr("another stream has begun")));
}

TEST(Connections, SendWhatLiesOutOfSightAsPieces) {
  End worker(OwnHeap::make()), server(OwnHeap::make());
  greet(worker, server);
  const BlockPtr block = worker.connection->block_for(100'000);
  std::memset(block->data(), 'x', 100'000);
  End elsewhere({});
  worker.begin();
  greet(worker, elsewhere);
  worker.connection->send(push_of(1), {.block = block, .bytes = 100'000});
  worker.connection->flush();
  settle(worker, elsewhere);
  ASSERT_THAT(elsewhere.requests, SizeIs(1));
  EXPECT_EQ(text_of(elsewhere.requests[0].second), std::string(100'000, 'x'));
}

TEST(Connections, TellWhatHasBeenAnswered) {
  End worker({}), server({});
  greet(worker, server);
  worker.connection->tell_answered(4);
  worker.connection->tell_answered(5);
  settle(worker, server);
  EXPECT_THAT(server.answered, testing::IsEmpty());
  worker.connection->send(push_of(1));
  worker.connection->flush();
  settle(worker, server);
  EXPECT_THAT(server.answered, ElementsAre(4, 5));
}

TEST(Connections, OfTwoVersionsNameBoth) {
  End server({});
  Frame head;
  head.mutable_greeting()->set_protocol(1);
  EXPECT_THAT([&] { server.receive(written(head, {})); },
              ThrowsMessage<Error>(HasSubstr("speaks version 1 of the protocol, this one version 5")));
}

TEST(Connections, RefuseWhatNoOtherEndSends) {
  End end(OwnHeap::make());
  Frame silent;
  silent.add_requests();
  EXPECT_THAT([&] { end.receive(written(silent, {})); }, ThrowsMessage<Error>(HasSubstr("without a greeting")));
  End other(OwnHeap::make());
  greet(other, end);
  const auto refuses = [&](const char* why, auto change, const std::string& behind = {}) {
    Frame head;
    change(head);
    EXPECT_THAT([&] { end.receive(written(head, {grpc::Slice(behind)})); }, ThrowsMessage<Error>(HasSubstr(why)));
  };
  const auto array = [](Frame& head) -> Array& { return *head.add_requests()->mutable_push()->mutable_value(); };
  refuses(
      "ended 5 bytes before", [&](Frame& head) { array(head).set_bytes(8); }, "abc");
  refuses(
      "more than the elements", [&](Frame& head) { array(head).set_bytes(2); }, "abc");
  refuses("no memory is seen", [&](Frame& head) { array(head).set_place(uint64_t{1} << 60); });
  refuses("began twice", [&](Frame& head) {
    head.mutable_greeting()->set_protocol(kProtocol);
    head.mutable_greeting()->mutable_held();
  });
  refuses("was not lent", [&](Frame& head) { head.add_released(4096); });
  EXPECT_THAT([&] { end.receive({}); }, ThrowsMessage<Error>(HasSubstr("cannot be read")));
  const auto raw = [&](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    return [&end, buffer = grpc::ByteBuffer(&slice, 1)] { end.receive(buffer); };
  };
  EXPECT_THAT(raw("ab"), ThrowsMessage<Error>(HasSubstr("ended 2 bytes")));
  EXPECT_THAT(raw(std::string("\xff\xff\xff\x7fxx", 6)), ThrowsMessage<Error>(HasSubstr("whose head has 2147483647")));
  EXPECT_THAT(raw(std::string("\2\0\0\0\xff\xff", 6)), ThrowsMessage<Error>(HasSubstr("whose head is none")));
}

}  // namespace
}  // namespace headrace::distributed
