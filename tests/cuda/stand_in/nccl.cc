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
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cuda/stand_in/elements.h"
#include "tests/cuda/stand_in/machine.h"

namespace stand_in {
namespace {

enum Result { kSuccess = 0, kUnhandledCudaError = 1, kSystemError = 2, kRemoteError = 6 };
enum Type { kInt8, kUint8, kInt32, kUint32, kInt64, kUint64, kFloat16, kFloat32, kFloat64, kBfloat16, kTypes };

size_t size_of(Type type) {
  static constexpr size_t kSizes[kTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kSizes[type];
}

constexpr int kAll = -1;  // the root of what has none

// What a rank wants of the others.
struct Call {
  const char* name = "";
  size_t count = 0;
  Type type = kFloat32;
  int root = kAll;
  const char* from = nullptr;
  char* to = nullptr;

  friend bool agree(const Call& a, const Call& b) {
    return std::strcmp(a.name, b.name) == 0 && a.count == b.count && a.type == b.type && a.root == b.root;
  }
};

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
  std::shared_ptr<Clique> clique;
  size_t rank;
  Context* context;
  uint64_t called = 0;  // collectives
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

void compute(const std::vector<Call>& calls) {
  if (calls[0].name == std::string_view("ncclBroadcast")) return give(calls);
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
  for (const Queued& one : group) called[one.comm->clique.get()][one.comm->rank] = one.comm->called;
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
  if (group_depth == 0 && comm.clique->size > 1)
    violation("%s of one of several devices outside of a group, where it waits for the others", name);
  if (type < 0 || type >= kTypes) violation("%s of a type that the stand-in does not know", name);
  if (root != kAll && (root < 0 || static_cast<size_t>(root) >= comm.clique->size)) violation("%s of no root", name);
  auto* const queue = reinterpret_cast<Stream*>(stream);
  if (!queue || &queue->context() != comm.context) violation("%s on a stream of another device", name);
  const auto known = static_cast<Type>(type);
  const size_t bytes = count * size_of(known);
  ++comm.called;
  group.push_back({&comm,
                   queue,
                   {name, count, known, root, block_of(name, comm, from, bytes), block_of(name, comm, to, bytes)},
                   {reinterpret_cast<CUdeviceptr>(from), reinterpret_cast<CUdeviceptr>(to)}});
  if (group_depth == 0) put_group();
  return kSuccess;
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
    comms[rank] = new Comm{clique, static_cast<size_t>(rank), &machine().context(devices[rank])};
  }
  return kSuccess;
}

// What is on its way ends, without results. The communicator is gone.
STAND_IN_API int ncclCommAbort(void* handle) {
  const std::unique_ptr<Comm> comm(static_cast<Comm*>(handle));
  {
    const std::lock_guard guard(comm->clique->mutex);
    comm->clique->is_aborted = true;
  }
  comm->clique->changed.notify_all();
  return kSuccess;
}

STAND_IN_API int ncclCommGetAsyncError(void* handle, int* error) {
  Clique& clique = *static_cast<Comm*>(handle)->clique;
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
