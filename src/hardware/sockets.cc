#include "hardware/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace headrace::hardware {
namespace {

void check_system(bool success, const char* what) {
  check(success, ErrorKind::kOs, "loopback: cannot {}: {}", what,
        errno == EAGAIN ? "nothing came within two seconds" : std::strerror(errno));
}

int open_socket(int type) {
  const int descriptor = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  check_system(descriptor >= 0, "open a socket");
  return descriptor;
}

sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

sockaddr_in bind_to_loopback(int descriptor) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check_system(bind(descriptor, generic(address), sizeof address) == 0, "bind to 127.0.0.1");
  socklen_t size = sizeof address;
  check_system(getsockname(descriptor, generic(address), &size) == 0, "learn the port");
  return address;
}

void connect_to(int descriptor, sockaddr_in address) {
  check_system(connect(descriptor, generic(address), sizeof address) == 0, "connect");
}

}  // namespace

SocketPair::SocketPair(Protocol protocol) : protocol_(protocol) {
  try {
    protocol == Protocol::kTcp ? connect_tcp() : connect_udp();
    const timeval limit{.tv_sec = 2};
    for (int descriptor : descriptors_) {
      for (int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        check_system(setsockopt(descriptor, SOL_SOCKET, option, &limit, sizeof limit) == 0, "set a time limit");
    }
  } catch (...) {
    close_all();
    throw;
  }
}

SocketPair::~SocketPair() { close_all(); }

void SocketPair::close_all() noexcept {
  for (int descriptor : descriptors_)
    if (descriptor >= 0) close(descriptor);
}

void SocketPair::connect_tcp() {
  struct Listener {
    int descriptor;
    ~Listener() { close(descriptor); }
  } listener{open_socket(SOCK_STREAM)};
  const sockaddr_in address = bind_to_loopback(listener.descriptor);
  check_system(listen(listener.descriptor, 1) == 0, "listen");
  descriptors_[kNear] = open_socket(SOCK_STREAM);
  connect_to(descriptors_[kNear], address);
  descriptors_[kFar] = accept4(listener.descriptor, nullptr, nullptr, SOCK_CLOEXEC);
  check_system(descriptors_[kFar] >= 0, "accept a connection");
  const int on = 1;  // small messages go out at once
  for (int descriptor : descriptors_)
    check_system(setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "set TCP_NODELAY");
}

void SocketPair::connect_udp() {
  for (int& descriptor : descriptors_) descriptor = open_socket(SOCK_DGRAM);
  const sockaddr_in near = bind_to_loopback(descriptors_[kNear]), far = bind_to_loopback(descriptors_[kFar]);
  connect_to(descriptors_[kNear], far);
  connect_to(descriptors_[kFar], near);
}

void SocketPair::send(End end, std::span<const std::byte> message) {
  while (!message.empty()) {
    const ssize_t sent = ::send(descriptors_[end], message.data(), message.size(), MSG_NOSIGNAL);
    check_system(sent >= 0, "send");
    message = message.subspan(static_cast<size_t>(sent));
  }
}

void SocketPair::receive(End end, std::span<std::byte> message) {
  while (!message.empty()) {
    const ssize_t received = recv(descriptors_[end], message.data(), message.size(), 0);
    check_system(received >= 0, "receive");
    check(received > 0, ErrorKind::kOs, "loopback: the other end closed the connection");
    message = message.subspan(static_cast<size_t>(received));
  }
}

size_t SocketPair::receive_some(End end, std::span<std::byte> message) noexcept {
  const ssize_t received = recv(descriptors_[end], message.data(), message.size(), 0);
  return received < 0 ? 0 : static_cast<size_t>(received);
}

void SocketPair::finish(End end) noexcept {
  if (protocol_ == Protocol::kTcp)
    shutdown(descriptors_[end], SHUT_WR);
  else
    shutdown(descriptors_[1 - end], SHUT_RD);
}

}  // namespace headrace::hardware
