// A server of a job: hears requests in gRPC's threads, and serves them one after the other in its own.
#pragma once

#include "distributed/job.h"

namespace headrace::distributed {

// Runs until no worker is left. Raises as distributed::serve().
void run_server(const Job& job, ServerProgram& program);

}  // namespace headrace::distributed
