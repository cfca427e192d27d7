#include "distributed/interfaces.h"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"

namespace headrace::distributed {
namespace {

struct Interface {
  std::string name, address;
  bool is_ipv4 = false;
};

// Empty: it is none by which other machines reach this one.
Interface interface_from(const ifaddrs& entry) {
  if (!entry.ifa_addr) return {};
  char text[INET6_ADDRSTRLEN] = {};
  if (entry.ifa_addr->sa_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr;
    return {entry.ifa_name, inet_ntop(AF_INET, &address, text, sizeof text), true};
  }
  if (entry.ifa_addr->sa_family != AF_INET6) return {};
  const auto& address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return {};
  return {entry.ifa_name, inet_ntop(AF_INET6, &address, text, sizeof text), false};
}

// With an entry for each address.
std::vector<Interface> all_interfaces() {
  ifaddrs* first = nullptr;
  check(getifaddrs(&first) == 0, ErrorKind::kOs,
        "distributed: the network interfaces of this machine cannot be listed; unset DMLC_INTERFACE, and set "
        "DMLC_NODE_HOST to the address of this machine");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  std::vector<Interface> all;
  for (const ifaddrs* entry = first; entry; entry = entry->ifa_next)
    if (Interface one = interface_from(*entry); !one.name.empty()) all.push_back(std::move(one));
  return all;
}

}  // namespace

std::string address_of_interface(const std::string& name) {
  const std::vector<Interface> all = all_interfaces();
  for (const bool is_ipv4 : {true, false})
    for (const Interface& one : all)
      if (one.name == name && one.is_ipv4 == is_ipv4) return one.address;
  std::vector<std::string> texts;
  for (const Interface& one : all) texts.push_back(fmt::format("{} ({})", one.name, one.address));
  fail(ErrorKind::kValue,
       "distributed: DMLC_INTERFACE is the name of a network interface of this machine that has an address, got '{}'; "
       "there are {}",
       name, fmt::join(texts, ", "));
}

bool is_address_of_this_machine(const std::string& address) noexcept try {
  return std::ranges::any_of(all_interfaces(), [&](const Interface& one) { return one.address == address; });
} catch (const std::exception&) {
  return false;
}

}  // namespace headrace::distributed
