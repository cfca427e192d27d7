// Programs of several processes. docs/distributed.md tells how they are started.
//
// Ranks exchange arrays, and share the stores that kvstore::create("mpi") makes: processes that mpirun or srun has
// started, or the workers of a job with servers. Another process is rank 0 of 1.
//
// With servers the workers also share the stores that kvstore::create("dist_sync") and its like make; servers hold what
// is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/kvstore.hpp"

namespace headrace::distributed {

// --- ranks ---
//
// The first call of any of these joins the other ranks, and waits for them. Calls are collective: every rank makes them
// all, in one order; those that are given a `name` in any order, if those of one name are in one order. What ranks have
// to agree in (the call, shape, dtype, reduction) and do not, or a rank that has ended, is an error of kind kRuntime on
// all ranks, now or where a result is read, and of all calls after it. Any thread.
//
// Exchanges of arrays return at once and are operations of the engine, which overlap with computing; arrays of
// accelerators pass through host memory, but those of NVIDIA's GPUs go by NCCL where all ranks have one (docs/cuda.md).
// The result lies in new memory on the device of the array. Where the values of
// one rank could not be computed, all ranks have the error. Nothing is recorded: no gradient flows through.

// Raises OSError where a launcher of MPI has started the process and MPI is missing, RuntimeError in a server or
// scheduler, and where workers come and go: in an elastic job of an asynchronous store.
void init();
bool is_initialized();
// After the last exchange; waits for the other ranks, unless what they exchange passes servers. The end of the process
// does it otherwise.
void shutdown();
// Before the process ends because of an error: calls of the other ranks fail with this text. Those of MPI that make
// none are ended after ten seconds.
void abandon(const std::string& why);

int rank();
int size();
int local_rank();  // among the processes of this machine
int local_size();
void barrier();
// For ranks with less data than others: `while (others_go_on()) take_part();`, where take_part() makes the calls that
// others make, with zeros. Waits until another rank has made a call that this one has not: true. False: all ranks have
// come here, after the same calls. Raises RuntimeError for who comes back without a call.
bool others_go_on();

// Element by element, over the ranks of each machine in their order, then over the machines: "sum", "mean", "max" or
// "min"; NCCL sums in its own order. Floats of 16 bits are summed in 32. The bits are the same on all ranks and in
// every run. Raises ValueError for another name.
NDArray all_reduce(const NDArray& array, std::string_view reduction = "sum", std::string_view name = "");
// The part of all_reduce() that belongs to this rank: as many entries of the first axis as other ranks get.
NDArray reduce_scatter(const NDArray& array, std::string_view reduction = "sum", std::string_view name = "");
// The arrays of all ranks one after the other along the first axis, in which alone they may differ. Waits until all
// ranks have made the call.
NDArray all_gather(const NDArray& array, std::string_view name = "");
// What rank `root` has.
NDArray broadcast(const NDArray& array, int root = 0, std::string_view name = "");
// The same for bytes; these wait.
std::vector<std::byte> broadcast_bytes(std::span<const std::byte> bytes, int root = 0);
std::vector<std::vector<std::byte>> all_gather_bytes(std::span<const std::byte> bytes);

// --- with servers ---

// As the environment variable DMLC_ROLE says.
enum class Role : uint8_t {
  kNone,       // of a process that is alone
  kWorker,     // runs the program
  kServer,     // holds arrays
  kScheduler,  // knows who takes part
};
// Raises ValueError for a variable that holds another text.
Role role_of_process();

// What a server does beside keeping arrays. Called by one thread at a time, each within run().
class ServerProgram {
 public:
  virtual ~ServerProgram() = default;
  // A worker's KVStore::send_command(), the first time that one sends this; heads below 0 are Headrace's own, such as
  // settings of the optimizer. `store` is the part of the worker's store that this server holds, number `number` of the
  // program. What it raises is raised in the worker. Those of KVStore::ask_servers() are carried out each time, and
  // answered.
  virtual std::string command(int number, kvstore::KVStore& store, int head, const std::string& body) = 0;
  // What the updater of a store keeps for a key beside what is stored. Where the job has replicas it goes to another
  // server after each push, which begins to update with it when this one is lost; `rest` is any text.
  struct Kept {
    std::vector<NDArray> arrays = {};
    std::string rest = {};
  };
  virtual Kept kept_for(int /*number*/, const kvstore::Key& /*key*/) { return {}; }
  virtual void keep_for(int /*number*/, const kvstore::Key& /*key*/, const Kept& /*kept*/) {}
  // Whether an update by row_sparse arrays leaves alone all rows that these do not have, in what is stored and in the
  // arrays that are kept for it, where these are all dense or all row_sparse. Then the other server is told rows alone.
  virtual bool leaves_other_rows(int /*number*/, const kvstore::Key& /*key*/) { return false; }
  // Calls `work`, in which command() and updaters are called.
  virtual void run(const std::function<void()>& work) { work(); }
};

// In a server or scheduler: takes part in the job until no worker is left. Raises ValueError where the environment says
// too little, OSError where it cannot listen, RuntimeError for a job that cannot begin or has lost its scheduler.
void serve(ServerProgram& program);

}  // namespace headrace::distributed
