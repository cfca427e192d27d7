// A library to preload, by which what servers say to each other passes a gate. Where a server connects to a port of
// 127.0.0.1 it comes to the port that CHAOS_CROSSING names, at the address 127.HIGH.LOW.1 that tells the gate which one
// was meant. The ports that CHAOS_GATES names are reached as they are.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>

namespace {

std::set<int> ports_in(const char* variable) {
  const char* const text = std::getenv(variable);
  std::istringstream all(text ? text : "");
  std::set<int> ports;
  for (std::string one; std::getline(all, one, ',');) ports.insert(std::atoi(one.c_str()));
  return ports;
}

bool is_server() {
  const char* const role = std::getenv("DMLC_ROLE");
  return role && std::strcmp(role, "server") == 0;
}

// The last four bytes of an address, and its port.
void lead_through(unsigned char* host, in_port_t& port) {
  static const std::set<int> crossing = is_server() ? ports_in("CHAOS_CROSSING") : std::set<int>();
  static const std::set<int> gates = ports_in("CHAOS_GATES");
  constexpr unsigned char kHere[] = {127, 0, 0, 1};
  const int meant = ntohs(port);
  if (crossing.empty() || gates.contains(meant) || std::memcmp(host, kHere, sizeof kHere) != 0) return;
  host[1] = static_cast<unsigned char>(meant >> 8);
  host[2] = static_cast<unsigned char>(meant & 0xff);
  port = htons(static_cast<uint16_t>(*crossing.begin()));
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int connect(int socket, const sockaddr* address, socklen_t length) {
  static auto* const real = reinterpret_cast<int (*)(int, const sockaddr*, socklen_t)>(dlsym(RTLD_NEXT, "connect"));
  sockaddr_in6 changed{};
  if (length > sizeof changed) return real(socket, address, length);
  std::memcpy(&changed, address, length);
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    auto& own = reinterpret_cast<sockaddr_in&>(changed);
    lead_through(reinterpret_cast<unsigned char*>(&own.sin_addr), own.sin_port);
  } else if (address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&changed.sin6_addr)) {
    lead_through(changed.sin6_addr.s6_addr + 12, changed.sin6_port);
  }
  return real(socket, reinterpret_cast<const sockaddr*>(&changed), length);
}
