// A device with streams of its own. Lives as long as the process.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "device/stream.h"

namespace headrace {

// What kind of device it is.
struct DeviceProperties {
  std::string name;            // as its maker calls it
  int compute_capability = 0;  // NVIDIA's version of what it can do, times ten; 0: it has none
  int processors = 0;          // each of which runs blocks of threads; 0: not known
};

class Accelerator {
 public:
  static constexpr int kMost = 64;  // accelerators of one process

  explicit Accelerator(Device device) noexcept : device_(device) {}
  virtual ~Accelerator() = default;

  Device device() const noexcept { return device_; }
  // All it has, in bytes.
  virtual int64_t memory_bytes() const noexcept = 0;
  virtual DeviceProperties properties() const = 0;

  virtual int stream_count() const noexcept = 0;
  virtual Stream& stream(int index) noexcept = 0;
  // The streams of the three roles that have one each; for copies between accelerators see peer_stream().
  Stream& stream(StreamRole role) noexcept { return stream(static_cast<int>(role)); }
  // The stream for what comes from the accelerator `from`. Copies from different ones need not wait for each other.
  virtual Stream& peer_stream(Device from) noexcept = 0;

  // A number that changes when work of any stream has become complete, see Stream::expect(), and with notify(). Any
  // thread.
  virtual uint32_t progress() noexcept = 0;
  // Returns when progress() is no longer `seen`. Any thread; may sleep.
  virtual void await_progress(uint32_t seen) noexcept = 0;
  virtual void notify() noexcept = 0;

  // Why the device no longer works: all work not yet complete is lost, and all work to come. Null: it works.
  virtual std::exception_ptr lost() const noexcept { return nullptr; }
  // Why what a block of its allocator held is gone although the device works: it was lost in between. Null: it is
  // there. Any thread that has access to the block.
  virtual std::exception_ptr lost_contents(const void* /*block*/) const noexcept { return nullptr; }

 private:
  const Device device_;
};

}  // namespace headrace
