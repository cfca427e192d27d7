// The scheduler of a job: gives the nodes their ranks and each other's addresses, lets workers meet, and tells
// everybody who has left. It holds no arrays. Of several schedulers one leads, and the others stand by.
#pragma once

#include "distributed/job.h"

namespace headrace::distributed {

// Runs until no worker is left, or the job could not begin. Raises OSError where it cannot listen, RuntimeError with
// the reason for which the job could not begin.
void run_scheduler(const Job& job);

}  // namespace headrace::distributed
