// When a GPU ran what was launched on a stream, for the timeline: events that take the time are put around each piece
// of work while operators are recorded.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "backend/cuda/driver.h"
#include "device/work.h"
#include "timeline/timeline.h"

namespace headrace {

class CudaDevice;
class CudaStream;

// Of one stream; used by the launch thread of its device. Lives as long as the process.
class StreamTimes {
 public:
  StreamTimes(CudaDevice& device, CudaStream& stream);

  // Around what is put on the stream. False: its times are not taken.
  bool begin(Work& work);
  void end(uint64_t number) noexcept;
  // Around a part of it, as Stream::begin_part().
  bool begin_part(timeline::Label label);
  void end_part() noexcept;
  // Tells the works up to this number, which is complete, when they ran.
  void report(uint64_t number) noexcept;

 private:
  struct Timed {
    Work* work;             // null: a part of the next one that has one
    timeline::Label label;  // of a part
    uint64_t number;
    CUevent begin, end;
  };

  Timed begin_timed(Work* work, timeline::Label label);
  bool end_timed(Timed& timed) noexcept;
  CUevent take_event();
  void record(CUevent event);
  // The stamp of the host's clock at an event that is over.
  uint64_t stamp_of(CUevent event);
  void take_origin();

  CudaDevice& device_;
  CudaStream& stream_;
  const timeline::Track lane_;
  const double ticks_per_ms_;
  std::optional<Timed> work_, part_;  // that have begun and not ended
  std::vector<Timed> parts_;          // of the work that has begun
  std::deque<Timed> pending_;         // oldest first
  std::vector<CUevent> free_;
  // An event on the stream while it was idle, and the host's clock then: what times are counted from.
  CUevent origin_ = nullptr;
  uint64_t origin_stamp_ = 0;
};

}  // namespace headrace
