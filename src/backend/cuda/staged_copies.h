// Copies between a GPU and memory of the host that is not pinned, which the GPU cannot reach: piece by piece through
// pinned memory, the host's half of one piece beside the GPU's half of another.
#pragma once

#include <array>
#include <cstddef>

#include "backend/cuda/driver.h"

namespace headrace {

class CudaDevice;
class CudaStream;

// Of one stream; used by the launch thread of its device. Lives as long as the process.
class StagedCopies {
 public:
  // Raises Error for what the driver does not give.
  explicit StagedCopies(CudaDevice& device);
  ~StagedCopies() = delete;
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // Put the copy on the stream, whose work is being launched.
  void to_device(CudaStream& stream, CUdeviceptr to, const void* from, size_t bytes);
  void to_host(CudaStream& stream, void* to, CUdeviceptr from, size_t bytes);

 private:
  static constexpr size_t kPiece = size_t{4} << 20;
  struct Slot {
    void* memory = nullptr;
    CUevent filled = nullptr, emptied = nullptr;  // by one half and by the other
  };

  Slot& next_slot() noexcept;
  void record(CUevent event, CUstream stream);
  void wait(CUstream stream, CUevent event);

  CudaDevice& device_;
  CUstream host_half_ = nullptr;  // what the host copies, in order
  CUevent reached_ = nullptr;     // by the one stream, for the other
  std::array<Slot, 3> slots_;
  size_t next_ = 0;
};

}  // namespace headrace
