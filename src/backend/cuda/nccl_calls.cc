#include "backend/cuda/nccl_calls.h"

namespace headrace {
namespace {

NcclType nccl_type(const GangTask& task) noexcept { return *nccl_type_of(task.dtype); }

NcclResult put_all_reduce(const NcclLibrary& library, const GangTask& task, void* block, size_t, NcclComm comm,
                          CUstream stream) {
  return library.all_reduce(block, block, task.elements, nccl_type(task), NcclFold::kSum, comm, stream);
}

NcclResult put_reduce(const NcclLibrary& library, const GangTask& task, void* block, size_t, NcclComm comm,
                      CUstream stream) {
  return library.reduce(block, block, task.elements, nccl_type(task), NcclFold::kSum, static_cast<int>(task.root), comm,
                        stream);
}

NcclResult put_broadcast(const NcclLibrary& library, const GangTask& task, void* block, size_t, NcclComm comm,
                         CUstream stream) {
  return library.broadcast(block, block, task.elements, nccl_type(task), static_cast<int>(task.root), comm, stream);
}

void* part_of(void* block, const GangTask& task, size_t rank) noexcept {
  return static_cast<std::byte*>(block) + rank * task.elements * item_size(task.dtype);
}

NcclResult put_all_gather(const NcclLibrary& library, const GangTask& task, void* block, size_t rank, NcclComm comm,
                          CUstream stream) {
  return library.all_gather(part_of(block, task, rank), block, task.elements, nccl_type(task), comm, stream);
}

NcclResult put_reduce_scatter(const NcclLibrary& library, const GangTask& task, void* block, size_t rank, NcclComm comm,
                              CUstream stream) {
  return library.reduce_scatter(block, part_of(block, task, rank), task.elements, nccl_type(task), NcclFold::kSum, comm,
                                stream);
}

}  // namespace

NcclCall nccl_call_of(GangTask::What what) noexcept {
  switch (what) {
    case GangTask::What::kAllReduce:
      break;
    case GangTask::What::kReduce:
      return {"reduce", "ncclReduce", put_reduce};
    case GangTask::What::kBroadcast:
      return {"broadcast", "ncclBroadcast", put_broadcast};
    case GangTask::What::kAllGather:
      return {"all_gather", "ncclAllGather", put_all_gather};
    case GangTask::What::kReduceScatter:
      return {"reduce_scatter", "ncclReduceScatter", put_reduce_scatter};
  }
  return {"all_reduce", "ncclAllReduce", put_all_reduce};
}

}  // namespace headrace
