// What a kind of device supplies: memory, and streams where it has them.
#pragma once

#include <exception>
#include <memory>

#include "device/accelerator.h"
#include "device/allocator.h"
#include "device/observer.h"
#include "device/topology.h"

namespace headrace {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int device_count() const noexcept = 0;
  // Why this process may not use the devices, of which there are none then. Null: it may.
  virtual std::exception_ptr refusal() const noexcept { return nullptr; }
  // Null when there is no such device.
  virtual Allocator* allocator(int id) noexcept = 0;
  // Null when the device has no streams of its own: the host.
  virtual Accelerator* accelerator(int /*id*/) noexcept { return nullptr; }
  // What links the devices with each other and the host; null: it is not known.
  virtual std::shared_ptr<const Topology> topology() { return nullptr; }
  // Somebody who is to hear of every push and every wait; null: nobody.
  virtual PushObserver* observer() noexcept { return nullptr; }
  // Called in the forking thread while no task runs. A backend ends its own threads in the first, when all locks are
  // free; takes its locks in the second; gives them back in the third, after which threads may be started again.
  virtual void end_threads() noexcept {}
  virtual void before_fork() noexcept {}
  virtual void after_fork(bool /*in_child*/) noexcept {}
};

}  // namespace headrace
