// Two sockets of this process that are connected over the loopback interface. Each end for one thread at a time.
#pragma once

#include <cstddef>
#include <span>

namespace headrace::hardware {

enum class Protocol { kTcp, kUdp };

class SocketPair {
 public:
  // Raises OSError with the system's reason. An operation that waits for more than two seconds fails, too.
  explicit SocketPair(Protocol protocol);
  ~SocketPair();
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  enum End { kNear, kFar };
  void send(End end, std::span<const std::byte> message);
  void receive(End end, std::span<std::byte> message);  // all of it
  // At most `message.size()` bytes; 0 when the other end has closed or nothing came for two seconds.
  size_t receive_some(End end, std::span<std::byte> message) noexcept;
  // The other end receives nothing more than what was sent.
  void finish(End end) noexcept;

 private:
  void connect_tcp();
  void connect_udp();
  void close_all() noexcept;

  const Protocol protocol_;
  int descriptors_[2] = {-1, -1};
};

}  // namespace headrace::hardware
