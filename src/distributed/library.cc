// What libheadrace_distributed.so gives to the library that loads it.

#include <grpc/grpc.h>

#include "base/check.h"
#include "collective/distributed_library.h"
#include "distributed/relay_wire.h"
#include "distributed/remote_store.h"
#include "distributed/scheduler.h"
#include "distributed/server.h"

namespace headrace::distributed {
namespace {

std::unique_ptr<kvstore::KVStore> make_remote_store(const std::string& type, const kvstore::Sharing& sharing) {
  return std::make_unique<RemoteStore>(
      type, sharing, sharing.on_devices ? kvstore::make_device_communicator() : kvstore::make_host_communicator(),
      Session::get(type, sharing.asynchronous));
}

void take_part(ServerProgram& program) {
  const Job job = job_of_environment();
  if (job.role == Role::kScheduler) return run_scheduler(job);
  check(job.role == Role::kServer, ErrorKind::kValue, "distributed: this process is no server or scheduler of a job");
  run_server(job, program);
}

}  // namespace
}  // namespace headrace::distributed

extern "C" __attribute__((visibility("default"))) const headrace::collective::DistributedLibrary*
headrace_distributed() {
  static constexpr headrace::collective::DistributedLibrary library = {
      .make_store = headrace::distributed::make_remote_store,
      .serve = headrace::distributed::take_part,
      .open_wire = headrace::distributed::open_relay_wire};
  // gRPC would end when the last channel does, and begin again with the next one, in threads that may still be at it
  // when the process ends. With this it does not end.
  grpc_init();
  return &library;
}
