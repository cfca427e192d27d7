// Var: the order of accesses to something, the error its value has, and which streams still use it. It knows no tensor
// and no concrete device. It is embedded in what it orders (Storage). The owner keeps it alive while tasks that access
// it are queued: their bodies hold references to the owner. Any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace headrace {

struct Access;
struct Failure;

class Var {
 public:
  Var() noexcept = default;
  Var(const Var&) = delete;
  Var& operator=(const Var&) = delete;
  ~Var();

  // Nothing is queued or running that reads or writes it.
  bool idle() const noexcept { return tail_.load(std::memory_order_acquire) == nullptr; }
  // The last completed write failed, or was skipped because of an earlier failure.
  bool poisoned() const noexcept { return !is_plain() && error() != nullptr; }
  // Neither an error nor a stream at work on it.
  bool is_plain() const noexcept { return state_.load(std::memory_order_acquire) == 0; }
  // What the failed task threw, or null.
  std::exception_ptr error() const noexcept;

 private:
  friend class VarAccess;  // the engine's door to the two words

  std::atomic<Access*> tail_{nullptr};  // the newest access that is not retired
  // 0, Failure* with one reference, or, with bit 1, StreamUses*; bit 0: someone is changing it
  mutable std::atomic<uintptr_t> state_{0};
};

static_assert(sizeof(Var) == 16);

}  // namespace headrace
