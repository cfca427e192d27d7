// The group of this process: the workers of its job, the processes that a launcher of MPI has started together with it,
// or this one alone.
#pragma once

#include <optional>
#include <string>

#include "collective/group.h"

namespace headrace::collective {

// Joined by the first call, and left when the process ends or by leave_process_group(). Raises OSError where MPI is
// missing, RuntimeError where it cannot begin, in a server or scheduler, and where workers come and go.
Group& process_group();
bool has_process_group() noexcept;
// After the last call of this process; waits for the other ranks. With a reason: this process fails, and so will the
// others' calls.
void leave_process_group(std::optional<std::string> failure = {});

}  // namespace headrace::collective
