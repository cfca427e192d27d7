// VarAccess: the engine's door to the two words of a Var. The second one is null as long as the last write succeeded
// and no stream is at work on the contents; so for host tasks all is said by one comparison.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "engine/failure.h"
#include "engine/launch.h"
#include "engine/var.h"

namespace headrace {

struct TaskSpec;

class VarAccess {
 public:
  static std::atomic<Access*>& tail(Var& var) noexcept { return var.tail_; }

  // The failure of the newest write that is over, or null. Any thread, any time.
  static FailurePtr failure(const Var& var) noexcept { return var.is_plain() ? nullptr : load_failure(var); }
  // Sets or, with null, clears it. Only who has exclusive access; streams may still be reading.
  static void set_failure(Var& var, const FailurePtr& failure) noexcept {
    if (failure || !var.is_plain()) store_failure(var, failure);
  }

  // What became of a task that never was a Task: its failure, or null, is that of what it writes. One that keeps only
  // notes a failure.
  static void set_outcome(const TaskSpec& spec, const FailurePtr& failure, FailureLog& kept) noexcept;

  // The launches that an access has to wait for: the write, and for a write all reads too. Who has that access.
  static void visit_uses(const Var& var, bool for_write, FunctionRef<void(const LaunchPtr&)> visit) {
    if (!var.is_plain()) visit_launches(var, for_write, visit);
  }
  static bool has_uses(const Var& var, bool for_write) noexcept;
  // A stream is at work on the contents from now on. Who has that access. Gives the failure that a write is to make up
  // for.
  static FailurePtr begin_use(Var& var, const LaunchPtr& launch, bool is_write) noexcept;
  // It no longer is, and what it wrote has this failure or none. Any thread, while the Var lives.
  static void end_use(Var& var, const Launch& launch, const FailurePtr& failure) noexcept;

 private:
  class State;

  static FailurePtr load_failure(const Var& var) noexcept;
  static void store_failure(Var& var, FailurePtr failure) noexcept;
  static void visit_launches(const Var& var, bool for_write, FunctionRef<void(const LaunchPtr&)> visit);
};

}  // namespace headrace
