#include "backend/sim/virtual_machine.h"

#include <exception>
#include <mutex>

#include "backend/sim/schedule.h"

namespace headrace::sim {

struct VirtualMachine::State {
  explicit State(MachineSpec spec) : machine(std::move(spec)), schedule(machine) {}

  const Machine machine;
  std::mutex mutex;
  Schedule schedule;           // guarded by mutex
  std::exception_ptr failure;  // guarded by mutex; the first

  // With the mutex held.
  Schedule& working() {
    if (failure) std::rethrow_exception(failure);
    return schedule;
  }
};

VirtualMachine::VirtualMachine(MachineSpec spec) : state_(std::make_unique<State>(std::move(spec))) {}
VirtualMachine::~VirtualMachine() = default;

template <class F>
void VirtualMachine::listen(F&& what) noexcept {
  std::lock_guard guard(state_->mutex);
  if (state_->failure) return;
  try {
    what(state_->schedule);
  } catch (...) {
    state_->failure = std::current_exception();
  }
}

void VirtualMachine::pushed(const PushedWork& work) noexcept {
  listen([&](Schedule& schedule) { schedule.push(work); });
}

void VirtualMachine::waited(const void* resource, bool for_all) noexcept {
  listen([&](Schedule& schedule) { schedule.wait(resource, for_all); });
}

void VirtualMachine::waited_all() noexcept {
  listen([](Schedule& schedule) { schedule.wait_all(); });
}

void VirtualMachine::forgotten(const void* resource) noexcept {
  listen([&](Schedule& schedule) { schedule.forget(resource); });
}

const Machine& VirtualMachine::machine() const noexcept { return state_->machine; }

int64_t VirtualMachine::now_ps() const {
  std::lock_guard guard(state_->mutex);
  return state_->working().now_ps();
}

void VirtualMachine::advance(int64_t ps) {
  std::lock_guard guard(state_->mutex);
  state_->working().advance(ps);
}

void VirtualMachine::stall(int gpu, int64_t ps) {
  std::lock_guard guard(state_->mutex);
  state_->working().stall(gpu, ps);
}

void VirtualMachine::forget_stalls() noexcept {
  listen([](Schedule& schedule) { schedule.forget_stalls(); });
}

VirtualReport VirtualMachine::report() const {
  std::lock_guard guard(state_->mutex);
  try {
    return state_->working().report();
  } catch (...) {
    state_->failure = std::current_exception();
    throw;
  }
}

void VirtualMachine::before_fork() noexcept { state_->mutex.lock(); }
void VirtualMachine::after_fork() noexcept { state_->mutex.unlock(); }

}  // namespace headrace::sim
