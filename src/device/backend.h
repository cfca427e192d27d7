// What a kind of device supplies: memory, and streams where it has them.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "device/accelerator.h"
#include "device/allocator.h"
#include "device/gang.h"
#include "device/kernel_module.h"
#include "device/observer.h"
#include "device/topology.h"

namespace headrace {

class RankGang;  // device/rank_gang.h

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int device_count() const noexcept = 0;
  // Why this process may not use the devices, of which there are none then. Null: it may.
  virtual std::exception_ptr refusal() const noexcept { return nullptr; }
  // Null when there is no such device.
  virtual Allocator* allocator(int id) noexcept = 0;
  // Null also while nobody has used the device, which is left alone.
  virtual Allocator* allocator_in_use(int id) noexcept { return allocator(id); }
  // Null when the device has no streams of its own: the host.
  virtual Accelerator* accelerator(int /*id*/) noexcept { return nullptr; }
  // Bytes of the device's memory that nobody has taken, other processes included. Raises Error(kRuntime).
  virtual int64_t free_bytes(int id) { return accelerator(id)->memory_bytes() - allocator(id)->stats().live; }
  // DLPack's number for the type, where other libraries of the process reach the devices' memory by its addresses; 0:
  // they do not.
  virtual int dlpack_type() const noexcept { return 0; }
  // Returns when all that anybody in the process has put on the device before is complete. Any thread.
  virtual void await_everybody(int /*id*/) noexcept {}
  // What comes with the devices, by MXNet's names of features.
  virtual std::vector<std::string> features() { return {}; }
  // Such devices, by ascending numbers, as one; null: there is no library that makes them one, which is said. Lives as
  // long as the process. Any thread.
  virtual Gang* gang(std::span<const int> /*ids*/) { return nullptr; }
  // Such a device as one of those of several processes, for one group of these; lives as long as the process. Null:
  // there is no library for that, or nobody wants it. Raises Error(kRuntime) where there should be one. Any thread.
  virtual RankGang* rank_gang(int /*id*/) { return nullptr; }
  // Compiles for one of the devices what a program brings. Null: they take no source. Raises Error(kRuntime) with what
  // the compiler says. Any thread.
  virtual std::shared_ptr<KernelModule> compile(int /*id*/, const KernelSource& /*source*/) { return nullptr; }
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
