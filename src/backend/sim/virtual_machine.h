// What a program would take on a machine that is not there: a discrete-event simulation in virtual time. It only
// listens; values are computed by the engine as always. So its times follow from the program and the machine alone,
// never from threads or loads of the real one: for equal calls of one thread they are equal to the picosecond.
//
// The model. The frontend takes a declared time for each operation that it pushes, and moves on to the end of what it
// waits for. An operation is ready when the frontend has pushed it and all it conflicts with have ended: the last
// writer of what it reads, the last writer and all readers since of what it writes. Each stream (streams.h) runs one
// operation at a time: of those that are ready, that of the highest priority, among these the first pushed. At one
// moment operations end first, then what the frontend has pushed by then arrives, then streams choose.
//
// An operation takes launch + max(flops / rate, bytes / bandwidth) of its device. A copy takes the latency of its
// route; then its bytes flow, sharing the links with all other copies (device/flows.h).
//
// Any thread may call any function. Memory is taken for operations that have not ended, and for known resources.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/sim/machine.h"
#include "backend/sim/virtual_report.h"
#include "device/observer.h"

namespace headrace::sim {

class VirtualMachine final : public PushObserver {
 public:
  // Raises ValueError as Machine does.
  explicit VirtualMachine(MachineSpec spec);
  ~VirtualMachine() override;
  VirtualMachine(const VirtualMachine&) = delete;
  VirtualMachine& operator=(const VirtualMachine&) = delete;

  // These raise nothing: the first error (a GPU that the machine has not, negative costs, times beyond a hundred days)
  // stops the clock and is raised by the functions below.
  void pushed(const PushedWork& work) noexcept override;
  void waited(const void* resource, bool for_all) noexcept override;
  void waited_all() noexcept override;
  void forgotten(const void* resource) noexcept override;

  const Machine& machine() const noexcept;

  // The frontend's clock.
  int64_t now_ps() const;
  // The frontend works for that long on its own. Raises ValueError for negative times.
  void advance(int64_t ps);
  // The next work of the GPU's compute stream begins so much later, and not after an earlier stall; 0: at once. Raises
  // ValueError for a GPU that the machine has not, and negative times.
  void stall(int gpu, int64_t ps);
  void forget_stalls() noexcept;
  VirtualReport report() const;

  // Around fork(): no other thread is inside while the process is copied.
  void before_fork() noexcept;
  void after_fork() noexcept;

 private:
  struct State;
  template <class F>
  void listen(F&& what) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace headrace::sim
