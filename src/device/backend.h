// What a kind of device supplies: memory now; streams and events come with the first device that has them.
#pragma once

#include "device/allocator.h"

namespace headrace {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int device_count() const noexcept = 0;
  // Null when there is no such device.
  virtual Allocator* allocator(int id) noexcept = 0;
  // Called in the forking thread while no task runs; a backend stops its own threads in the first and may start
  // them again in the second.
  virtual void before_fork() noexcept {}
  virtual void after_fork(bool /*in_child*/) noexcept {}
};

}  // namespace headrace
