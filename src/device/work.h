// What is launched on a stream, and the pieces of it that run on the device.
//
// launch() is host code: it finds out where arrays lie, takes memory, and puts device code on the stream. Device code
// is a kernel or a copy; it alone touches memory of the device. A stream whose device code the host's threads run may
// launch work when its turn has come: then device code runs at once, inside launch().
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace headrace {

namespace timeline {
class Track;
}

class Work {
 public:
  // What profilers call it; lives as long as the work.
  virtual const char* name() const noexcept = 0;
  // Once, in the thread that launches, before begin(), or in a thread of the stream, between begin() and end().
  virtual void launch() noexcept = 0;
  // Its turn has come. False: it has failed, and nothing of it may run. In a thread of the stream, as end() and fail().
  virtual bool begin() noexcept = 0;
  virtual void end() noexcept = 0;
  // Instead of end(), in the thread that launches, when the work is complete: the device ran it between these stamps
  // of ticks(), which belong to this lane of the timeline.
  virtual void ran(const timeline::Track& lane, uint64_t begin, uint64_t end) noexcept = 0;
  // Device code has raised an error: what follows in this work does not run.
  virtual void fail(std::exception_ptr error) noexcept = 0;

  // Memory of the device that belongs to the work until the host has taken note of its end. Raises Error(kMemory).
  virtual void* take_scratch(size_t bytes) = 0;
  // What follows in the work may have it.
  virtual void give_back_scratch(void* block) noexcept = 0;
  // Stays for as long, too: what device code still uses when the task has let go of it.
  virtual void hold(std::shared_ptr<const void> object) = 0;
  // Memory is short. In launch(), in the thread that also takes note of ends: waits for the oldest work that has not
  // ended and releases what it held. False: there is none.
  virtual bool make_room() noexcept = 0;

 protected:
  ~Work() = default;
};

// Made by run_on_device(), destroyed when it has run.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;
  virtual void run() = 0;
};

// Takes device code from launch() for the stream that the work is launched on. For one launch.
class Recorder {
 public:
  // `code` runs on the device behind what was put before, and touches the blocks that `memory` lies in.
  virtual void put(std::span<const void* const> memory, std::unique_ptr<DeviceCode> code) = 0;

 protected:
  ~Recorder() = default;
};

template <class Code>
class DeviceCodeOf final : public DeviceCode {
 public:
  explicit DeviceCodeOf(Code code) : code_(std::move(code)) {}
  void run() override { code_(); }

 private:
  Code code_;
};

}  // namespace headrace
