// Programs of several processes: what this process is among them, and what a server does. The workers of a job share
// the stores that kvstore::create("dist_sync") and its like make; servers hold what is stored. docs/distributed.md
// tells how such programs are started.
#pragma once

#include <cstdint>
#include <string>

#include "headrace/kvstore.hpp"

namespace headrace::distributed {

// As the environment variable DMLC_ROLE says.
enum class Role : uint8_t {
  kNone,       // of a process that is alone
  kWorker,     // runs the program
  kServer,     // holds arrays
  kScheduler,  // knows who takes part
};
// Raises ValueError for a variable that holds another text.
Role role_of_process();

// What a server does beside keeping arrays. Called by one thread, that of serve().
class ServerProgram {
 public:
  virtual ~ServerProgram() = default;
  // A worker's KVStore::send_command(), the first time that one sends this; heads below 0 are settings of the
  // optimizer. `store` is the part of the worker's store that this server holds, number `number` of the program. What
  // it raises is raised in the worker. Those of KVStore::ask_servers() are carried out each time, and answered.
  virtual std::string command(int number, kvstore::KVStore& store, int head, const std::string& body) = 0;
  // Calls `work`, in which command() and updaters are called.
  virtual void run(const std::function<void()>& work) { work(); }
};

// In a server or scheduler: takes part in the job until no worker is left. Raises ValueError where the environment says
// too little, OSError where it cannot listen, RuntimeError for a job that cannot begin or has lost its scheduler.
void serve(ServerProgram& program);

}  // namespace headrace::distributed
