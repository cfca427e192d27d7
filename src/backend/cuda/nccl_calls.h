// What gangs do, as calls of NCCL, each in place.
#pragma once

#include "backend/cuda/nccl_library.h"
#include "device/gang.h"

namespace headrace {

struct NcclCall {
  const char *operation, *name;
  // `rank` is the place of the block among those of the communicator.
  NcclResult (*put)(const NcclLibrary& library, const GangTask& task, void* block, size_t rank, NcclComm comm,
                    CUstream stream);
};

NcclCall nccl_call_of(GangTask::What what) noexcept;

}  // namespace headrace
