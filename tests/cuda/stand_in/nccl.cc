// The functions of NCCL that headrace's plug-in asks for (backend/cuda/nccl_library.h). A collective waits on the
// stream of each rank for those of the others, as NCCL's kernels do, and is computed on the host, in the order of the
// ranks. What breaks the library's contract, or would leave devices waiting for each other, ends the process.
#include <cuda.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cuda/stand_in/elements.h"
#include "tests/cuda/stand_in/machine.h"
#include "tests/cuda/stand_in/nccl.h"
#include "tests/cuda/stand_in/nccl_processes.h"

namespace stand_in {
namespace {

bool agree(const Call& a, const Call& b) {
  return std::strcmp(a.name, b.name) == 0 && a.count == b.count && a.type == b.type && a.root == b.root;
}

// The n-th collective of a communicator.
struct Round {
  std::vector<Call> calls;  // by rank, those that have come
  std::vector<bool> has_come;
  size_t come = 0;
  bool is_over = false;
};

struct Clique {
  explicit Clique(size_t ranks) : size(ranks) {}

  const size_t size;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, Round> rounds;  // these: guarded by mutex
  bool is_aborted = false;
  bool is_stuck = false;  // a rank never comes: what NCCL says when a peer is gone
};

struct Comm {
  std::shared_ptr<Clique> clique;     // these two: one is null
  std::shared_ptr<Processes> others;  // of a rank of several processes
  size_t rank, size;
  Context* context;
  uint64_t called = 0;      // collectives
  bool is_working = false;  // what was asked for last is not over, as far as anybody knows
};

struct Queued {
  Comm* comm;
  Stream* stream;
  Call call;
  std::vector<CUdeviceptr> uses;
};

thread_local int group_depth = 0;
thread_local std::vector<Queued> group;
thread_local bool has_group_failed = false;

// On one device the collectives of all communicators have to be in one order: they are on one stream.
struct Places {
  std::mutex mutex;
  std::map<Context*, Stream*> streams;  // guarded by mutex
};

Places& places() {
  static Places& instance = *new Places;
  return instance;
}

// Of a sum.
std::span<const Call> receivers(const std::vector<Call>& calls) {
  const std::span<const Call> all(calls);
  return calls[0].root == kAll ? all : all.subspan(static_cast<size_t>(calls[0].root), 1);
}

void give(const std::vector<Call>& calls) {
  const Call& root = calls[static_cast<size_t>(calls[0].root)];
  for (const Call& call : calls) std::memmove(call.to, root.from, root.count * size_of(root.type));
}

template <class T>
void add_numbers(const std::vector<Call>& calls) {
  for (size_t i = 0; i < calls[0].count; ++i) {
    T sum{};
    for (size_t rank = 0; rank < calls.size(); ++rank) {
      T value;
      std::memcpy(&value, calls[rank].from + i * sizeof(T), sizeof value);
      sum = static_cast<T>(rank == 0 ? value : sum + value);
    }
    for (const Call& call : receivers(calls)) std::memcpy(call.to + i * sizeof(T), &sum, sizeof sum);
  }
}

// Halves are rounded at each step.
void add_halves(const std::vector<Call>& calls) {
  const cudaDataType_t type = calls[0].type == kFloat16 ? CUDA_R_16F : CUDA_R_16BF;
  for (size_t i = 0; i < calls[0].count; ++i) {
    const auto place = static_cast<int64_t>(i);
    char sum[2];
    std::memcpy(sum, calls[0].from + i * 2, 2);
    for (size_t rank = 1; rank < calls.size(); ++rank)
      store(type, sum, 0, load(type, sum, 0) + load(type, calls[rank].from, place));
    for (const Call& call : receivers(calls)) std::memcpy(call.to + i * 2, sum, 2);
  }
}

}  // namespace

void add_up(const std::vector<Call>& calls) {
  switch (calls[0].type) {
    case kInt8:
    case kUint8:
      return add_numbers<uint8_t>(calls);
    case kInt32:
    case kUint32:
      return add_numbers<uint32_t>(calls);
    case kInt64:
    case kUint64:
      return add_numbers<uint64_t>(calls);
    case kFloat32:
      return add_numbers<float>(calls);
    case kFloat64:
      return add_numbers<double>(calls);
    default:
      return add_halves(calls);
  }
}

namespace {

void compute(const std::vector<Call>& calls) {
  calls[0].name == std::string_view("ncclBroadcast") ? give(calls) : add_up(calls);
}

// HEADRACE_STAND_IN_NCCL_STUCK=n: the last rank never comes to the n-th collective.
bool never_comes(const Clique& clique, size_t rank, uint64_t number) {
  const char* const text = std::getenv("HEADRACE_STAND_IN_NCCL_STUCK");
  return text && rank + 1 == clique.size && number == std::strtoull(text, nullptr, 10);
}

// On the stream of the rank.
void take_part(Clique& clique, size_t rank, uint64_t number, const Call& call) {
  std::unique_lock guard(clique.mutex);
  if (never_comes(clique, rank, number)) {
    clique.is_stuck = true;
    clique.changed.wait(guard, [&] { return clique.is_aborted; });
    return;
  }
  Round& round = clique.rounds[number];
  round.calls.resize(clique.size);
  round.has_come.resize(clique.size);
  for (size_t other = 0; other < clique.size; ++other)
    if (round.has_come[other] && !agree(round.calls[other], call))
      violation("%s of %zu elements of type %d by rank %zu, but %s of %zu of type %d by rank %zu, or another root",
                call.name, call.count, call.type, rank, round.calls[other].name, round.calls[other].count,
                round.calls[other].type, other);
  round.calls[rank] = call;
  round.has_come[rank] = true;
  if (++round.come == clique.size) {
    compute(round.calls);
    round.is_over = true;
    clique.changed.notify_all();
  } else {
    clique.changed.wait(guard, [&] { return round.is_over || clique.is_aborted; });
  }
}

// In the order of the calls. A group has a collective of all ranks of a communicator, or some would wait for ever.
void put_group() {
  std::map<Clique*, std::map<size_t, uint64_t>> called;
  for (const Queued& one : group)
    if (one.comm->clique) called[one.comm->clique.get()][one.comm->rank] = one.comm->called;
  for (const auto& [clique, ranks] : called) {
    if (ranks.size() != clique->size)
      violation("ncclGroupEnd of a group that has calls of %zu of the %zu devices of a communicator", ranks.size(),
                clique->size);
    if (!std::ranges::all_of(ranks, [&](const auto& rank) { return rank.second == ranks.begin()->second; }))
      violation("ncclGroupEnd of a group that has different numbers of calls for the devices of a communicator");
  }
  for (Queued& one : group) {
    {
      const std::lock_guard guard(places().mutex);
      Stream*& stream = places().streams[one.comm->context];
      if (stream && stream != one.stream && !stream->is_idle())
        violation("collectives of two communicators on different streams of a device, which may wait for each other");
      stream = one.stream;
    }
    if (const std::shared_ptr<Processes> others = one.comm->others) {
      one.stream->put(std::move(one.uses),
                      [others, number = one.comm->called, call = one.call] { others->take_part(number, call); });
      continue;
    }
    const std::shared_ptr<Clique> clique = one.comm->clique;
    one.stream->put(std::move(one.uses), [clique, rank = one.comm->rank, number = one.comm->called, call = one.call] {
      take_part(*clique, rank, number, call);
    });
  }
  group.clear();
}

Result failure_of(const char* call) {
  const CUresult wanted = machine().enter(call);
  if (wanted == CUDA_SUCCESS) return kSuccess;
  return wanted == CUDA_ERROR_OUT_OF_MEMORY ? kSystemError : kUnhandledCudaError;
}

char* block_of(const char* name, const Comm& comm, const void* address, size_t bytes) {
  const auto place = reinterpret_cast<CUdeviceptr>(address);
  if (machine().owner(place) != comm.context)
    violation("%s of memory that is not that of the communicator's device", name);
  return comm.context->memory.find(place, bytes);
}

Result queue_call(const char* name, const void* from, void* to, size_t count, int type, int root, void* handle,
                  CUstream stream) {
  Comm& comm = *static_cast<Comm*>(handle);
  if (const Result failure = failure_of(name)) {
    has_group_failed = true;
    return failure;
  }
  if (comm.is_working) violation("%s before what was asked for last is over", name);
  if (comm.others && comm.others->connected() != kSuccess) violation("%s of ranks that are not connected", name);
  if (group_depth == 0 && comm.clique && comm.size > 1)
    violation("%s of one of several devices outside of a group, where it waits for the others", name);
  if (type < 0 || type >= kTypes) violation("%s of a type that the stand-in does not know", name);
  if (root != kAll && (root < 0 || static_cast<size_t>(root) >= comm.size)) violation("%s of no root", name);
  auto* const queue = reinterpret_cast<Stream*>(stream);
  if (!queue || &queue->context() != comm.context) violation("%s on a stream of another device", name);
  const auto known = static_cast<Type>(type);
  const size_t bytes = count * size_of(known);
  const size_t from_bytes = name == std::string_view("ncclReduceScatter") ? bytes * comm.size : bytes;
  const size_t to_bytes = name == std::string_view("ncclAllGather") ? bytes * comm.size : bytes;
  ++comm.called;
  group.push_back(
      {&comm,
       queue,
       {name, count, known, root, block_of(name, comm, from, from_bytes), block_of(name, comm, to, to_bytes)},
       {reinterpret_cast<CUdeviceptr>(from), reinterpret_cast<CUdeviceptr>(to)}});
  if (group_depth > 0) return kSuccess;
  put_group();
  comm.is_working = comm.others != nullptr;
  return comm.is_working ? kInProgress : kSuccess;
}

void check_fold(const char* name, int fold) {
  if (fold != 0) violation("%s that is no sum", name);
}

}  // namespace
}  // namespace stand_in

using namespace stand_in;  // what follows are the library's functions

#define STAND_IN_API extern "C" [[gnu::visibility("default")]]

STAND_IN_API int ncclGetVersion(int* version) {
  *version = 22800;
  return kSuccess;
}

STAND_IN_API const char* ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "no error";
    case kUnhandledCudaError:
      return "unhandled cuda error";
    case kSystemError:
      return "unhandled system error";
    case kInvalidUsage:
      return "invalid usage";
    case kRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}

STAND_IN_API const char* ncclGetLastError(void*) { return "the stand-in was asked to fail"; }

STAND_IN_API int ncclCommInitAll(void** comms, int count, const int* devices) {
  if (group_depth > 0) violation("ncclCommInitAll within a group");
  if (const Result failure = failure_of("ncclCommInitAll")) return failure;
  const auto clique = std::make_shared<Clique>(static_cast<size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    if (devices[rank] < 0 || devices[rank] >= machine().device_count()) violation("ncclCommInitAll of no device");
    comms[rank] = new Comm{clique, nullptr, static_cast<size_t>(rank), static_cast<size_t>(count),
                           &machine().context(devices[rank])};
  }
  return kSuccess;
}

struct UniqueId {
  char bytes[kIdBytes];
};

// The part of NCCL's that all versions have.
struct Options {
  size_t size;
  unsigned magic, version;
  int blocking;
};

STAND_IN_API int ncclGetUniqueId(UniqueId* id) {
  if (const Result failure = failure_of("ncclGetUniqueId")) return failure;
  const std::string place = Processes::make_place();
  std::memset(id->bytes, 0, kIdBytes);
  std::memcpy(id->bytes, place.data(), place.size());
  return kSuccess;
}

STAND_IN_API int ncclCommInitRankConfig(void** comm, int ranks, UniqueId id, int rank, const Options* options) {
  constexpr unsigned kMagic = 0xcafebeef;
  if (options->magic != kMagic) violation("ncclCommInitRankConfig with options that are none");
  if (options->blocking != 0) violation("ncclCommInitRankConfig that would wait for other ranks");
  if (const Result failure = failure_of("ncclCommInitRankConfig")) return failure;
  Context& context = machine().needed("ncclCommInitRankConfig");
  const auto place = static_cast<size_t>(rank), size = static_cast<size_t>(ranks);
  const auto others =
      std::make_shared<Processes>(std::string(id.bytes), place, size, "gpu " + std::to_string(context.device));
  *comm = new Comm{nullptr, others, place, size, &context, 0, true};
  return kInProgress;
}

STAND_IN_API int ncclCommFinalize(void* handle) {
  Comm& comm = *static_cast<Comm*>(handle);
  if (comm.is_working) violation("ncclCommFinalize before what was asked for last is over");
  comm.is_working = true;
  return kInProgress;
}

STAND_IN_API int ncclCommDestroy(void* handle) {
  const std::unique_ptr<Comm> comm(static_cast<Comm*>(handle));
  if (comm->is_working) violation("ncclCommDestroy before what was asked for last is over");
  return kSuccess;
}

// What is on its way ends, without results. The communicator is gone.
STAND_IN_API int ncclCommAbort(void* handle) {
  const std::unique_ptr<Comm> comm(static_cast<Comm*>(handle));
  if (comm->others) {
    comm->others->abort();
    return kSuccess;
  }
  {
    const std::lock_guard guard(comm->clique->mutex);
    comm->clique->is_aborted = true;
  }
  comm->clique->changed.notify_all();
  return kSuccess;
}

STAND_IN_API int ncclCommGetAsyncError(void* handle, int* error) {
  Comm& comm = *static_cast<Comm*>(handle);
  if (comm.others) {
    *error = comm.others->is_stuck() ? kRemoteError : comm.others->connected();
    if (*error != kInProgress) comm.is_working = false;
    return kSuccess;
  }
  Clique& clique = *comm.clique;
  const std::lock_guard guard(clique.mutex);
  *error = clique.is_stuck ? kRemoteError : kSuccess;
  return kSuccess;
}

STAND_IN_API int ncclGroupStart() {
  if (const Result failure = failure_of("ncclGroupStart")) return failure;
  ++group_depth;
  return kSuccess;
}

// NCCL leaves the context of a device that it worked on, in the place of what was current.
STAND_IN_API int ncclGroupEnd() {
  if (group_depth == 0) violation("ncclGroupEnd without ncclGroupStart");
  if (--group_depth > 0) return kSuccess;
  const Result failure = std::exchange(has_group_failed, false) ? kSystemError : failure_of("ncclGroupEnd");
  if (failure) {  // nothing of it is put anywhere
    group.clear();
    return failure;
  }
  if (!group.empty() && machine().current()) {
    machine().pop();
    machine().push(group.back().comm->context);
  }
  put_group();
  return kSuccess;
}

STAND_IN_API int ncclAllReduce(const void* from, void* to, size_t count, int type, int fold, void* comm,
                               CUstream stream) {
  check_fold("ncclAllReduce", fold);
  return queue_call("ncclAllReduce", from, to, count, type, kAll, comm, stream);
}

STAND_IN_API int ncclReduce(const void* from, void* to, size_t count, int type, int fold, int root, void* comm,
                            CUstream stream) {
  check_fold("ncclReduce", fold);
  return queue_call("ncclReduce", from, to, count, type, root, comm, stream);
}

STAND_IN_API int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* comm,
                               CUstream stream) {
  return queue_call("ncclBroadcast", from, to, count, type, root, comm, stream);
}

STAND_IN_API int ncclAllGather(const void* from, void* to, size_t count, int type, void* comm, CUstream stream) {
  return queue_call("ncclAllGather", from, to, count, type, kAll, comm, stream);
}

STAND_IN_API int ncclReduceScatter(const void* from, void* to, size_t count, int type, int fold, void* comm,
                                   CUstream stream) {
  check_fold("ncclReduceScatter", fold);
  return queue_call("ncclReduceScatter", from, to, count, type, kAll, comm, stream);
}
