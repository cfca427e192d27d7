#include "hardware/sockets.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "headrace/error.hpp"

namespace headrace::hardware {
namespace {

class Sockets : public testing::TestWithParam<Protocol> {};

std::vector<std::byte> message_of(size_t size) {
  std::vector<std::byte> message(size);
  for (size_t i = 0; i < size; ++i) message[i] = static_cast<std::byte>(i * 7);
  return message;
}

TEST_P(Sockets, MessagesArriveAtBothEnds) {
  SocketPair sockets(GetParam());
  for (size_t size : {1, 64, 4096}) {
    const std::vector<std::byte> sent = message_of(size);
    std::vector<std::byte> there(size), back(size);
    sockets.send(SocketPair::kNear, sent);
    sockets.receive(SocketPair::kFar, there);
    EXPECT_EQ(there, sent);
    sockets.send(SocketPair::kFar, there);
    sockets.receive(SocketPair::kNear, back);
    EXPECT_EQ(back, sent);
  }
}

TEST_P(Sockets, AnEndThatFinishesReleasesTheOther) {
  SocketPair sockets(GetParam());
  std::array<std::byte, 16> buffer;
  size_t received = 1;
  std::thread taker([&] { received = sockets.receive_some(SocketPair::kFar, buffer); });
  sockets.finish(SocketPair::kNear);
  taker.join();
  EXPECT_EQ(received, 0u);
}

INSTANTIATE_TEST_SUITE_P(Both, Sockets, testing::Values(Protocol::kTcp, Protocol::kUdp),
                         [](const auto& info) { return std::string(info.param == Protocol::kTcp ? "Tcp" : "Udp"); });

TEST(TcpSockets, AStreamThatEndsIsAnErrorForWhoWaits) {
  SocketPair sockets(Protocol::kTcp);
  sockets.finish(SocketPair::kFar);
  std::array<std::byte, 1> buffer;
  try {
    sockets.receive(SocketPair::kNear, buffer);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOs);
    EXPECT_STREQ(error.what(), "loopback: the other end closed the connection");
  }
}

}  // namespace
}  // namespace headrace::hardware
