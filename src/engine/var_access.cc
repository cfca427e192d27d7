#include "engine/var_access.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace headrace {
namespace {

constexpr uintptr_t kLocked = 1, kUses = 2;

}  // namespace

// The second word of a Var, locked while this lives: a reader must not count a reference on a Failure that a writer is
// about to drop. What it then points to is what is written back.
class VarAccess::State {
 public:
  explicit State(const Var& var) noexcept : word_(var.state_), value_(lock(var.state_)) {}
  ~State() { word_.store(value_, std::memory_order_release); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  StreamUses* uses() const noexcept {
    return value_ & kUses ? reinterpret_cast<StreamUses*>(value_ & ~kUses) : nullptr;
  }
  FailurePtr failure() const noexcept {
    if (const StreamUses* known = uses()) return known->failure;
    return FailurePtr(reinterpret_cast<const Failure*>(value_));
  }
  // Gives the old failure: it is dropped after the lock.
  FailurePtr set_failure(FailurePtr failure) noexcept {
    if (StreamUses* known = uses()) return std::exchange(known->failure, std::move(failure));
    const auto* old =
        reinterpret_cast<const Failure*>(std::exchange(value_, reinterpret_cast<uintptr_t>(failure.release())));
    return FailurePtr::adopt(old);
  }
  StreamUses& make_uses() {
    if (StreamUses* known = uses()) return *known;
    auto* made = new StreamUses{failure(), {}, {}};
    set_failure(nullptr);
    value_ = reinterpret_cast<uintptr_t>(made) | kUses;
    return *made;
  }
  // Nothing is at work any more: only the failure stays. Gives what is to be deleted after the lock.
  StreamUses* drop_uses() noexcept {
    StreamUses* const known = uses();
    value_ = reinterpret_cast<uintptr_t>(known->failure.release());
    return known;
  }

 private:
  static uintptr_t lock(std::atomic<uintptr_t>& word) noexcept {
    for (;;) {
      const uintptr_t value = word.fetch_or(kLocked, std::memory_order_acquire);
      if (!(value & kLocked)) return value;
      cpu_pause();
    }
  }

  std::atomic<uintptr_t>& word_;
  uintptr_t value_;
};

FailurePtr VarAccess::load_failure(const Var& var) noexcept { return State(var).failure(); }

void VarAccess::store_failure(Var& var, FailurePtr failure) noexcept {
  FailurePtr old;
  State state(var);
  StreamUses* const uses = state.uses();
  // What is still being written no longer counts, but it takes place.
  if (uses && uses->write) uses->reads.push_back(std::exchange(uses->write, nullptr));
  old = state.set_failure(std::move(failure));
}

void VarAccess::set_outcome(const TaskSpec& spec, const FailurePtr& failure, FailureLog& kept) noexcept {
  if (failure && spec.keeps) return kept.add(failure);
  for (Var* var : spec.writes) set_failure(*var, failure);
}

void VarAccess::visit_launches(const Var& var, bool for_write, FunctionRef<void(const LaunchPtr&)> visit) {
  State state(var);
  const StreamUses* const uses = state.uses();
  if (!uses) return;
  if (uses->write) visit(uses->write);
  if (for_write) std::ranges::for_each(uses->reads, visit);
}

bool VarAccess::has_uses(const Var& var, bool for_write) noexcept {
  if (var.is_plain()) return false;
  State state(var);
  const StreamUses* const uses = state.uses();
  return uses && (uses->write || (for_write && !uses->reads.empty()));
}

FailurePtr VarAccess::begin_use(Var& var, const LaunchPtr& launch, bool is_write) noexcept {
  FailurePtr before;
  State state(var);
  StreamUses& uses = state.make_uses();
  if (!is_write) {
    uses.reads.push_back(launch);
    return before;
  }
  before = state.set_failure(nullptr);  // this write makes up for it, or fails itself
  // The launch comes after all others, on the device itself: whoever waits for it has waited for them.
  uses.reads.clear();
  uses.write = launch;
  return before;
}

void VarAccess::end_use(Var& var, const Launch& launch, const FailurePtr& failure) noexcept {
  StreamUses* empty = nullptr;
  FailurePtr old;
  {
    State state(var);
    StreamUses* const uses = state.uses();
    if (!uses) return;
    if (uses->write.get() == &launch) {
      uses->write = nullptr;
      old = state.set_failure(failure);
    }
    std::erase_if(uses->reads, [&](const LaunchPtr& one) { return one.get() == &launch; });
    if (uses->empty()) empty = state.drop_uses();
  }
  delete empty;
}

Var::~Var() { VarAccess::set_failure(*this, nullptr); }

std::exception_ptr Var::error() const noexcept {
  const FailurePtr failure = VarAccess::failure(*this);
  return failure ? failure->error : nullptr;
}

}  // namespace headrace
