#include "backend/cuda/staged_copies.h"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"

namespace headrace {
namespace {

// oneTBB is not built for ThreadSanitizer, which would report how its threads wait for each other as races.
#if defined(__SANITIZE_THREAD__)
constexpr size_t kShare = SIZE_MAX / 2;
#else
constexpr size_t kShare = size_t{512} << 10;
#endif

// One thread does not use all of the memory's bandwidth, and fresh memory of the host comes page by page.
void copy_bytes(void* to, const void* from, size_t bytes) {
  const size_t shares = (bytes + kShare - 1) / kShare;
  oneapi::tbb::parallel_for(size_t{0}, shares, [&](size_t share) {
    const size_t begin = share * kShare;
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                std::min(kShare, bytes - begin));
  });
}

}  // namespace

StagedCopies::StagedCopies(CudaDevice& device) : device_(device) {
  const ContextScope context(device);
  const CudaDriver& driver = device.driver();
  const auto make_event = [&](CUevent& event) {
    device.check(driver.event_create(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  };
  constexpr int kHigh = -1;
  device.check(driver.stream_create_with_priority(&host_half_, CU_STREAM_NON_BLOCKING, kHigh),
               "cuStreamCreateWithPriority");
  make_event(reached_);
  for (Slot& slot : slots_) {
    slot.memory = pinned_memory().allocate(kPiece);
    make_event(slot.filled);
    make_event(slot.emptied);
  }
}

StagedCopies::Slot& StagedCopies::next_slot() noexcept {
  next_ = (next_ + 1) % slots_.size();
  return slots_[next_];
}

void StagedCopies::record(CUevent event, CUstream stream) {
  device_.check(device_.driver().event_record(event, stream), "cuEventRecord");
}

void StagedCopies::wait(CUstream stream, CUevent event) {
  device_.check(device_.driver().stream_wait_event(stream, event, 0), "cuStreamWaitEvent");
}

// The host's half begins where the stream is now.
void StagedCopies::to_device(CudaStream& stream, CUdeviceptr to, const void* from, size_t bytes) {
  record(reached_, stream.handle());
  wait(host_half_, reached_);
  for (size_t begin = 0; begin < bytes; begin += kPiece) {
    const size_t count = std::min(kPiece, bytes - begin);
    Slot& slot = next_slot();
    wait(host_half_, slot.emptied);
    const void* const source = static_cast<const char*>(from) + begin;
    stream.run_on_host(host_half_, [=, memory = slot.memory] { copy_bytes(memory, source, count); });
    record(slot.filled, host_half_);
    wait(stream.handle(), slot.filled);
    device_.check(device_.driver().memcpy_htod_async(to + begin, slot.memory, count, stream.handle()),
                  "cuMemcpyHtoDAsync");
    record(slot.emptied, stream.handle());
  }
}

// The stream goes on when the host's half is over.
void StagedCopies::to_host(CudaStream& stream, void* to, CUdeviceptr from, size_t bytes) {
  for (size_t begin = 0; begin < bytes; begin += kPiece) {
    const size_t count = std::min(kPiece, bytes - begin);
    Slot& slot = next_slot();
    wait(stream.handle(), slot.emptied);
    device_.check(device_.driver().memcpy_dtoh_async(slot.memory, from + begin, count, stream.handle()),
                  "cuMemcpyDtoHAsync");
    record(slot.filled, stream.handle());
    wait(host_half_, slot.filled);
    void* const target = static_cast<char*>(to) + begin;
    stream.run_on_host(host_half_, [=, memory = slot.memory] { copy_bytes(target, memory, count); });
    record(slot.emptied, host_half_);
  }
  record(reached_, host_half_);
  wait(stream.handle(), reached_);
}

}  // namespace headrace
