// Streams: in-order queues of work on an accelerator, and events, points in them. The engine launches work and orders
// streams; a backend implements them. docs/devices.md tells which CUDA call serves each function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "device/lane.h"
#include "headrace/device.hpp"

namespace headrace {

class Accelerator;
class Stream;

// A point in a stream: all work launched on it up to number `number`, counted from 1, is behind it.
struct Event {
  Stream* stream = nullptr;
  uint64_t number = 0;
};

// What is launched. `run` is called once with `object`, inside launch() or later in a thread of the backend, while
// current_stream() is the stream; what it puts on the stream, or does itself, is the work. It must not throw, and
// `object` must live until the work is complete.
struct Work {
  void (*run)(void* object) noexcept;
  void* object;
};

// Bytes at an address of a device's memory.
struct MemoryBlock {
  Device device;
  void* address;
};

class Stream {
 public:
  Stream(Accelerator& accelerator, Lane lane, int index, std::optional<Device> source = {}) noexcept
      : accelerator_(accelerator), lane_(lane), index_(index), source_(source) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Accelerator& accelerator() const noexcept { return accelerator_; }
  Lane lane() const noexcept { return lane_; }
  // From 0; below Accelerator::stream_count().
  int index() const noexcept { return index_; }
  // Of a stream for what comes from one other accelerator: that one.
  const std::optional<Device>& source() const noexcept { return source_; }

  // Queues work behind everything queued so far. One thread at a time; never waits for the device. Raises what the
  // device says when it cannot take work.
  virtual Event launch(Work work) = 0;
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

  // Copies between the memories of two devices, one of them this stream's, as part of the work that calls it. Raises
  // Error when the copy fails.
  virtual void copy(MemoryBlock to, MemoryBlock from, size_t bytes) = 0;

 private:
  Accelerator& accelerator_;
  const Lane lane_;
  const int index_;
  const std::optional<Device> source_;
};

// The stream whose work the calling thread is running; null: none.
Stream* current_stream() noexcept;
// The device of that stream, or cpu(0): where kernels find their memory.
Device current_device() noexcept;

// For backends: while it lives, the calling thread runs work of the stream.
class StreamScope {
 public:
  explicit StreamScope(Stream& stream) noexcept;
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream* const outer_;
};

}  // namespace headrace
