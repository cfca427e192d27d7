// The threads of a block on one thread of the host: each runs until it has to wait for others, and goes on when they
// have come there, too; in an order that differs from step to step. Kernels include this header through the prelude, so
// it knows nothing of the driver.
#pragma once

namespace stand_in {

// Of one launch.
struct Extents {
  unsigned blocks[3], threads[3], shared_bytes;
};

enum class Barrier : unsigned char { kBlock, kWarp };

class Threads {
 public:
  // Of a thread that `run` runs: returns when all threads of its block, or warp, wait or have ended. Ends the process
  // where that never happens.
  virtual void wait(Barrier barrier) = 0;
  // Calls body(data, thread) for each of `count` threads.
  virtual void run(unsigned count, void (*body)(void* data, unsigned thread), void* data) = 0;
  // Ends the process: a kernel has broken a rule.
  [[noreturn]] virtual void fail(const char* why) = 0;

 protected:
  ~Threads() = default;
};

}  // namespace stand_in
