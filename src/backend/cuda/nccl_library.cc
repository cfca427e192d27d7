#include "backend/cuda/nccl_library.h"

#include <fmt/format.h>

#include <vector>

#include "backend/cuda/library.h"
#include "base/config.h"

namespace headrace {
namespace {

constexpr int kTooNewNccl = 30000;
constexpr const char* kNoNccl = "none";

// None: `why` says it.
std::optional<NcclLibrary> load_nccl(std::string& why) {
  const std::string chosen = config().cuda_nccl;
  const std::vector<std::string> names{chosen.empty() ? "libnccl.so.2" : chosen};
  void* const library = open_first_library(names, why);
  if (!library) return {};
  NcclLibrary made{};
  const auto look_up = functions_of(library, why);
  look_up(made.get_version, "ncclGetVersion");
  look_up(made.get_error_string, "ncclGetErrorString");
  look_up(made.get_last_error, "ncclGetLastError");
  look_up(made.comm_init_all, "ncclCommInitAll");
  look_up(made.get_unique_id, "ncclGetUniqueId");
  look_up(made.comm_init_rank_config, "ncclCommInitRankConfig");
  look_up(made.comm_finalize, "ncclCommFinalize");
  look_up(made.comm_destroy, "ncclCommDestroy");
  look_up(made.comm_abort, "ncclCommAbort");
  look_up(made.comm_get_async_error, "ncclCommGetAsyncError");
  look_up(made.group_start, "ncclGroupStart");
  look_up(made.group_end, "ncclGroupEnd");
  look_up(made.all_reduce, "ncclAllReduce");
  look_up(made.reduce, "ncclReduce");
  look_up(made.broadcast, "ncclBroadcast");
  look_up(made.all_gather, "ncclAllGather");
  look_up(made.reduce_scatter, "ncclReduceScatter");
  int version = 0;
  if (why.empty() &&
      (made.get_version(&version) != NcclResult::kSuccess || version < kOldestNccl || version >= kTooNewNccl))
    why = fmt::format("the library has version {}, but one of NCCL 2, from 2.18 on, is needed", version);
  if (why.empty()) return made;
  return {};
}

struct LoadedNccl {
  std::optional<NcclLibrary> library;
  std::string why;
};

const LoadedNccl& loaded_nccl() {
  static const LoadedNccl& instance = *new LoadedNccl([] {
    LoadedNccl made;
    if (config().cuda_nccl != kNoNccl) made.library = load_nccl(made.why);
    return made;
  }());
  return instance;
}

}  // namespace

std::optional<NcclType> nccl_type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kInt8:
      return NcclType::kInt8;
    case DType::kUint8:
      return NcclType::kUint8;
    case DType::kInt32:
      return NcclType::kInt32;
    case DType::kUint32:
      return NcclType::kUint32;
    case DType::kInt64:
      return NcclType::kInt64;
    case DType::kUint64:
      return NcclType::kUint64;
    case DType::kFloat16:
      return NcclType::kFloat16;
    case DType::kFloat32:
      return NcclType::kFloat32;
    case DType::kFloat64:
      return NcclType::kFloat64;
    case DType::kBfloat16:
      return NcclType::kBfloat16;
    case DType::kBool:
    case DType::kInt16:
    case DType::kUint16:
      return std::nullopt;
  }
  return std::nullopt;
}

const NcclLibrary* nccl_library() { return loaded_nccl().library ? &*loaded_nccl().library : nullptr; }

const std::string& why_no_nccl() { return loaded_nccl().why; }

std::string nccl_error_text(const char* call, NcclResult result) {
  const NcclLibrary& library = *nccl_library();
  const char* const more = library.get_last_error(nullptr);
  return fmt::format("{} answered {}{}", call, library.get_error_string(result),
                     more && *more ? fmt::format(" ({})", more) : "");
}

}  // namespace headrace
