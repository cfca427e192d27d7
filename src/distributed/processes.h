// Processes of this machine: whether one that another process has named still runs. Any thread.
#pragma once

#include <string>

namespace headrace::distributed {

// What names this process, here and on other machines; empty: the system does not say.
std::string own_process();

// Whether the process runs no more. False where that cannot be seen: on another machine, or in another container.
bool has_ended(const std::string& process);

}  // namespace headrace::distributed
