// Hears what a program asks for: every operation that it pushes, and what it waits for. It cannot change anything; the
// clock of a simulated machine listens in this way (backend/sim/virtual_machine.h).
//
// Calls come in the order of the program, from the threads that push and wait, also from several at once.
#pragma once

#include <optional>
#include <span>

#include "device/stream_role.h"
#include "headrace/device.hpp"

namespace headrace {

// Resources are what operations are ordered by, known by address alone: an operation that reads one comes after the
// last that wrote it, one that writes it after that and all that read it since.
struct PushedWork {
  const char* name;  // lives for ever
  Device device;     // has the stream that runs it. Copies to and from the host are work of the accelerator
  StreamRole role = StreamRole::kCompute;
  std::optional<Device> source = {};  // of a copy between accelerators: the one that sends; `device` receives
  double flops = 0;
  double bytes = 0;  // read and written; of a copy: copied
  std::span<const void*const> reads = {}, writes = {};
  int priority = 0;  // of what is ready for one stream, the highest goes first
};

class PushObserver {
 public:
  virtual ~PushObserver() = default;
  virtual void pushed(const PushedWork& work) noexcept = 0;
  // The calling thread waits until what was pushed so far has written the resource; `for_all`: read it, too.
  virtual void waited(const void* resource, bool for_all) noexcept = 0;
  virtual void waited_all() noexcept = 0;
  // The address may be that of another resource from now on.
  virtual void forgotten(const void* resource) noexcept = 0;
};

}  // namespace headrace
