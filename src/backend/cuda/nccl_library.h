// NCCL as a table of functions of a library that is looked up when GPUs first sum something together. What is used of
// its interface is declared here: the plug-in is built without its header.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "headrace/dtype.hpp"

namespace headrace {

inline constexpr int kOldestNccl = 21800;  // as ncclGetVersion() counts

using NcclComm = struct NcclCommunicator*;

enum class NcclResult : int { kSuccess = 0, kInProgress = 7 };  // and others, which the library names
enum class NcclType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
};
enum class NcclFold : int { kSum = 0 };

// None: the library does not sum such numbers.
std::optional<NcclType> nccl_type_of(DType dtype) noexcept;

// Where the ranks of several processes meet.
struct NcclId {
  char bytes[128];
};

// How a communicator is made, as version 2.18 has it, which later ones read, too.
struct NcclConfig {
  static constexpr int kDefault = std::numeric_limits<int>::min();

  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldestNccl;
  int blocking = kDefault;
  int cluster_size = kDefault, least_blocks = kDefault, most_blocks = kDefault;
  const char* network = nullptr;
  int shares_on_split = kDefault;
};

struct NcclLibrary {
  NcclResult (*get_version)(int* version);
  const char* (*get_error_string)(NcclResult result);
  const char* (*get_last_error)(NcclComm comm);
  NcclResult (*comm_init_all)(NcclComm* comms, int count, const int* devices);
  NcclResult (*get_unique_id)(NcclId* id);
  NcclResult (*comm_init_rank_config)(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config);
  NcclResult (*comm_finalize)(NcclComm comm);
  NcclResult (*comm_destroy)(NcclComm comm);
  NcclResult (*comm_abort)(NcclComm comm);
  NcclResult (*comm_get_async_error)(NcclComm comm, NcclResult* error);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, NcclType type, NcclFold fold, NcclComm comm,
                           CUstream stream);
  NcclResult (*reduce)(const void* from, void* to, size_t count, NcclType type, NcclFold fold, int root, NcclComm comm,
                       CUstream stream);
  NcclResult (*broadcast)(const void* from, void* to, size_t count, NcclType type, int root, NcclComm comm,
                          CUstream stream);
  NcclResult (*all_gather)(const void* from, void* to, size_t count, NcclType type, NcclComm comm, CUstream stream);
  NcclResult (*reduce_scatter)(const void* from, void* to, size_t count, NcclType type, NcclFold fold, NcclComm comm,
                               CUstream stream);
};

// Null: there is none, or it is switched off. Any thread.
const NcclLibrary* nccl_library();
// Empty where there is one, and where it is switched off.
const std::string& why_no_nccl();

// "ncclAllReduce answered unhandled cuda error (what it says besides)".
std::string nccl_error_text(const char* call, NcclResult result);

}  // namespace headrace
