// The loopback interface: what the system's network code costs without a wire.
#include <exception>
#include <thread>

#include "hardware/probes.h"
#include "hardware/sockets.h"

namespace headrace::hardware {
namespace {

constexpr size_t kSmall = 64, kLarge = 4096, kPiece = size_t{64} << 10;
constexpr char kNoWire[] = "inside this machine: no wire";

// Sends a message there and back again and again, each time to a thread that sleeps until it comes. The first byte
// tells the other end whether to go on.
std::vector<double> round_trips(Workbench& bench, Protocol protocol, size_t size) {
  SocketPair sockets(protocol);
  std::jthread echo([&] {
    std::vector<std::byte> message(size);
    try {
      do {
        sockets.receive(SocketPair::kFar, message);
        sockets.send(SocketPair::kFar, message);
      } while (message[0] != std::byte{1});
    } catch (const std::exception&) {
      sockets.finish(SocketPair::kFar);  // the near end meets the same error, or the end of the stream
    }
  });
  std::vector<std::byte> message(size);
  const auto trip = [&] {
    sockets.send(SocketPair::kNear, message);
    sockets.receive(SocketPair::kNear, message);
  };
  try {
    std::vector<double> seconds = sample(bench.effort(), trip, 50);
    message[0] = std::byte{1};
    trip();
    return seconds;
  } catch (...) {
    sockets.finish(SocketPair::kNear);
    throw;
  }
}

template <Protocol kProtocol>
Figure round_trip(Workbench& bench) {
  return {median(round_trips(bench, kProtocol, 1)), kNoWire};
}

template <Protocol kProtocol>
Figure send_4k(Workbench& bench) {
  return {median(round_trips(bench, kProtocol, kLarge)) / 2, "half of a round trip; no wire"};
}

// Seconds per message of a stream, as the sender sees them, while another thread takes them.
double seconds_per_message(Workbench& bench, Protocol protocol, size_t size) {
  SocketPair sockets(protocol);
  std::jthread taker([&] {
    std::vector<std::byte> buffer(kPiece);
    while (sockets.receive_some(SocketPair::kFar, buffer) > 0) {
    }
  });
  struct Finish {
    SocketPair& sockets;
    ~Finish() { sockets.finish(SocketPair::kNear); }
  } finish{sockets};
  const std::vector<std::byte> message(size);
  return seconds_per_item(bench.effort(), [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) sockets.send(SocketPair::kNear, message);
  });
}

template <Protocol kProtocol>
Figure message_cost(Workbench& bench) {
  return {seconds_per_message(bench, kProtocol, kSmall), "seen by the sender"};
}

Figure tcp_rate(Workbench& bench) {
  return {static_cast<double>(kPiece) / seconds_per_message(bench, Protocol::kTcp, kPiece), kNoWire};
}

Figure other_machine(Workbench&) { throw NotMeasured("needs a second machine, and a name for it"); }

// Light in glass covers about 200,000 km a second.
Figure other_continent(Workbench&) {
  throw NotMeasured("needs a machine there; light in 2 x 10,000 km of glass fibre takes 100 ms");
}

}  // namespace

std::vector<Row> network_rows() {
  constexpr Unit kTime = Unit::kSeconds;
  constexpr Protocol kTcp = Protocol::kTcp, kUdp = Protocol::kUdp;
  return {
      {"tcp_round_trip", "1 byte to another thread and back, TCP", kTime, {}, round_trip<kTcp>},
      {"udp_round_trip", "1 byte to another thread and back, UDP", kTime, {}, round_trip<kUdp>},
      {"tcp_send_4k",
       "4 KB to another thread, TCP",
       kTime,
       {"send 4 KB, 100 Gbit/s fabric", "send 4 KB, 10 Gbit/s Ethernet"},
       send_4k<kTcp>},
      {"udp_send_4k",
       "4 KB to another thread, UDP",
       kTime,
       {"send 4 KB, 100 Gbit/s fabric", "send 4 KB, 10 Gbit/s Ethernet"},
       send_4k<kUdp>},
      {"tcp_message", "one of many messages of 64 bytes, TCP", kTime, {}, message_cost<kTcp>},
      {"udp_message", "one of many messages of 64 bytes, UDP", kTime, {}, message_cost<kUdp>},
      {"tcp_rate", "a stream of 64 KiB pieces, TCP", Unit::kBytesPerSecond, {}, tcp_rate},
      {"round_trip_near",
       "round trip to a machine in the same data centre",
       kTime,
       {"round trip in a data centre"},
       other_machine},
      {"round_trip_far",
       "round trip to another continent",
       kTime,
       {"round trip California - Netherlands"},
       other_continent},
  };
}

}  // namespace headrace::hardware
