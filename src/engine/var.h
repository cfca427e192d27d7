// Var: the order of accesses to something, and the error its value has. It knows no tensor and no device. It is
// embedded in what it orders (Storage). The owner keeps it alive while tasks that access it are queued: their bodies
// hold references to the owner. Any thread may call any function.
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
  bool poisoned() const noexcept { return failure_.load(std::memory_order_acquire) != 0; }
  // What the failed task threw, or null.
  std::exception_ptr error() const noexcept;

 private:
  friend struct VarAccess;  // the engine's door to the two words

  std::atomic<Access*> tail_{nullptr};         // the newest access that is not retired
  mutable std::atomic<uintptr_t> failure_{0};  // Failure* with one reference; bit 0: someone is changing it
};

static_assert(sizeof(Var) == 16);

}  // namespace headrace
