// Network interfaces of this machine.
#pragma once

#include <string>

namespace headrace::distributed {

// The address at which others reach this machine by a network interface: its first one of IPv4, or else of IPv6 that is
// not for one link alone. Raises ValueError for an interface that is not there or has no such address, naming those
// that have one.
std::string address_of_interface(const std::string& name);

// Whether `address`, in numbers, is one of this machine's own. False where its interfaces cannot be listed.
bool is_address_of_this_machine(const std::string& address) noexcept;

}  // namespace headrace::distributed
