// A server of a job: serves requests one after the other, in the thread of gRPC that has brought one where nothing else
// is being done, in its own otherwise. Who does that is "the thread of the server" to all that belongs to it.
#pragma once

#include "distributed/job.h"

namespace headrace::distributed {

// Runs until no worker is left. Raises as distributed::serve().
void run_server(const Job& job, ServerProgram& program);

}  // namespace headrace::distributed
