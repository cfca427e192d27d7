// Accelerators of one backend that do one thing together, by a library of their vendor's. Lives as long as the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/stream.h"
#include "headrace/dtype.hpp"

namespace headrace {

// What a gang does with blocks of so many elements, one of each device.
struct GangTask {
  enum class What : uint8_t {
    kAllReduce,  // all get the sum of all, of the same bits
    kReduce,     // the block of the root gets the sum of all; the others are read
    kBroadcast,  // the others get what is in the block of the root
    kAllGather,  // these two: of gangs of ranks (rank_gang.h), whose blocks have so many elements for each rank, the
    kReduceScatter,  // n-th in the n-th part. All get the parts of all; each gets the sum of all in its own part
  };
  What what;
  size_t root;  // the place of a device in the gang
  size_t elements;
  DType dtype;
};

class Gang {
 public:
  virtual ~Gang() = default;

  // Whether the library knows numbers of this type. Any thread.
  virtual bool knows(DType dtype) const noexcept = 0;
  // On which its work is launched, one of the first device's: what is launched there waits for whatever the work needs
  // on any of the devices, and is complete when all of them are done.
  virtual Stream& stream() noexcept = 0;
  // For work that is being launched on stream(): puts the task on the devices, whose blocks are given in their order
  // and stay until the work is complete. Raises Error(kRuntime), also for all that comes after a failure.
  virtual void put(const GangTask& task, std::span<void* const> blocks) = 0;
};

}  // namespace headrace
