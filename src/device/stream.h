// Streams: in-order queues of work on an accelerator, and events, points in them. The engine launches work and orders
// streams; a backend implements them. docs/devices.md tells which CUDA call serves each function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/function_ref.h"
#include "device/recurrence.h"
#include "device/stream_role.h"
#include "device/work.h"
#include "headrace/device.hpp"
#include "timeline/timeline.h"

namespace headrace {

class Accelerator;
class Stream;

// A point in a stream: all work launched on it up to number `number`, counted from 1, is behind it.
struct Event {
  Stream* stream = nullptr;
  uint64_t number = 0;
};

// Bytes at an address of a device's memory.
struct MemoryBlock {
  Device device;
  void* address;
};

class Stream {
 public:
  Stream(Accelerator& accelerator, StreamRole role, int index, std::optional<Device> source = {}) noexcept
      : accelerator_(accelerator), role_(role), index_(index), source_(source) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Accelerator& accelerator() const noexcept { return accelerator_; }
  StreamRole role() const noexcept { return role_; }
  // From 0; below Accelerator::stream_count().
  int index() const noexcept { return index_; }
  // Of a stream for what comes from one other accelerator: that one.
  const std::optional<Device>& source() const noexcept { return source_; }

  // Queues work behind everything queued so far, which must live until it is complete. One thread at a time; never
  // waits for the device. Raises what the device says when it cannot take work.
  virtual Event launch(Work& work) = 0;
  // What is launched from now on begins after `event`, of a stream of any accelerator of the same backend. The thread
  // that launches.
  virtual void wait(Event event) = 0;
  // The number of the newest work up to which everything is complete. Any thread; never waits.
  virtual uint64_t completed() noexcept = 0;
  // Somebody needs to know when completed() reaches `number`: then, and when the stream runs empty, progress() of the
  // accelerator changes at once. Other ends may be noticed later, several together. Any thread.
  virtual void expect(uint64_t number) noexcept = 0;
  // Waits until completed() has reached `number`. Any thread outside the backend.
  virtual void synchronize(uint64_t number) noexcept = 0;

  // What ran up to work `number`, which is complete, is told when it did, see Work::ran(). The thread that launches,
  // before the work goes.
  virtual void report_times(uint64_t /*number*/) noexcept {}

  // A part of the work that is being launched begins, and ends: for the timeline. Parts are not nested. False: when the
  // device runs it cannot be told. The thread that launches.
  virtual bool begin_part(timeline::Label /*label*/) { return false; }
  virtual void end_part() noexcept {}

  // Whether recur() may do anything but call `launch`, so that it is worth naming what it depends on. The thread that
  // launches, as recur().
  virtual bool keeps_recurrences() const noexcept { return false; }
  // Puts on this stream, as a part of the work that is being launched, what `launch` puts there; or, instead of calling
  // it, the same as an earlier call for `what` with equal `arguments`. So all that `launch` does has to follow from the
  // two.
  virtual void recur(const RecurrencePtr& /*what*/, std::span<const uint64_t> /*arguments*/,
                     FunctionRef<void()> launch) {
    launch();
  }

  // Copies between the memories of two devices, one of them this stream's, as part of the work that calls it. A copy
  // that fails raises Error, or fails the work when its turn comes.
  virtual void copy(MemoryBlock to, MemoryBlock from, size_t bytes) = 0;
  // For device code that is running: it touches this block, too, until it ends.
  virtual void touch(const void* /*block*/) {}

 private:
  Accelerator& accelerator_;
  const StreamRole role_;
  const int index_;
  const std::optional<Device> source_;
};

// The stream whose work the calling thread is launching or running; null: none.
Stream* current_stream() noexcept;
// The device of that stream, or cpu(0): where kernels find their memory.
Device current_device() noexcept;
// That work; null: none.
Work* current_work() noexcept;
// What takes its device code, while it is being launched and will run later: the thread runs host code. Otherwise null.
Recorder* current_recorder() noexcept;
inline bool is_launching() noexcept { return current_recorder() != nullptr; }

// Has `code` run on the device of the current stream, behind what is already there: at once where the stream has come
// to this work, otherwise later, in another thread. So it owns what it refers to, or the task does whose work this is.
// It alone may touch memory of the device, and of that only the blocks that `memory` lies in. What it raises fails the
// work.
template <class Code>
void run_on_device(std::span<const void* const> memory, Code code) {
  if (Recorder* const recorder = current_recorder())
    recorder->put(memory, std::make_unique<DeviceCodeOf<Code>>(std::move(code)));
  else
    code();
}

// Records on the timeline what the calling thread does from construction to destruction, or, where it launches it and
// the stream can tell, when the device runs it.
class PartSpan {
 public:
  explicit PartSpan(timeline::Label label) {
    if (!timeline::enabled(label.category->source)) [[likely]]
      return;
    if (is_launching() && current_stream()->begin_part(label))
      stream_ = current_stream();
    else
      here_.emplace(label);
  }
  ~PartSpan() {
    if (stream_) stream_->end_part();
  }
  PartSpan(const PartSpan&) = delete;
  PartSpan& operator=(const PartSpan&) = delete;

 private:
  Stream* stream_ = nullptr;
  std::optional<timeline::Span> here_;
};

// For backends: while it lives, the calling thread runs work of the stream or, where there is a recorder, launches it.
class StreamScope {
 public:
  StreamScope(Stream& stream, Work& work, Recorder* recorder = nullptr) noexcept;
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  struct State {
    Stream* stream = nullptr;
    Work* work = nullptr;
    Recorder* recorder = nullptr;
  };

 private:
  const State outer_;
};

}  // namespace headrace
