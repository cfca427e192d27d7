#include "engine/engine.h"

#include <mutex>
#include <vector>

#include "base/check.h"

namespace headrace {

struct Failure {
  std::exception_ptr error;
  std::atomic<int> references{0};
};

struct VarAccess {
  static Failure* get(const Var& v) { return reinterpret_cast<Failure*>(v.failure_.load()); }
  static void set(const Var& v, Failure* f) {
    if (f) f->references++;
    Failure* old = reinterpret_cast<Failure*>(v.failure_.exchange(reinterpret_cast<uintptr_t>(f)));
    if (old && --old->references == 0) delete old;
  }
};

class Scheduler {
 public:
  std::recursive_mutex mutex;
  std::vector<std::exception_ptr> failures;
};

Var::~Var() { VarAccess::set(*this, nullptr); }
std::exception_ptr Var::error() const noexcept { return poisoned() ? VarAccess::get(*this)->error : nullptr; }

Engine::Engine(const Config&) : scheduler_(std::make_unique<Scheduler>()) {}
Engine::~Engine() = default;

Engine::Inline Engine::begin_inline(const TaskSpec& spec) {
  scheduler_->mutex.lock();
  for (Var* v : spec.reads) {
    if (!v->poisoned()) continue;
    for (Var* w : spec.writes) VarAccess::set(*w, VarAccess::get(*v));
    scheduler_->mutex.unlock();
    return Inline::kSkip;
  }
  return Inline::kRun;
}

void Engine::end_inline(const TaskSpec& spec) noexcept {
  for (Var* w : spec.writes) VarAccess::set(*w, nullptr);
  scheduler_->mutex.unlock();
}

void Engine::fail_inline(const TaskSpec& spec) noexcept {
  auto* failure = new Failure{std::current_exception()};
  scheduler_->failures.push_back(failure->error);
  for (Var* w : spec.writes) VarAccess::set(*w, failure);
  scheduler_->mutex.unlock();
}

Engine::Pending Engine::make_task(const TaskSpec&, const BodyType&, size_t, size_t) { std::abort(); }
void Engine::submit(Task*, const TaskSpec&) {}

void Engine::wait_to_read(Var& var) {
  if (var.poisoned()) std::rethrow_exception(var.error());
}
void Engine::wait_to_write(Var& var) { wait_to_read(var); }
bool Engine::wait_to_read_for(Var& var, std::chrono::nanoseconds) { return wait_to_read(var), true; }
bool Engine::wait_to_write_for(Var& var, std::chrono::nanoseconds) { return wait_to_read(var), true; }
void Engine::wait_all() {
  std::lock_guard lock(scheduler_->mutex);
  if (scheduler_->failures.empty()) return;
  std::exception_ptr first = scheduler_->failures.front();
  scheduler_->failures.erase(scheduler_->failures.begin());
  std::rethrow_exception(first);
}
bool Engine::wait_all_for(std::chrono::nanoseconds) { return wait_all(), true; }
int Engine::worker_count() const noexcept { return 0; }
bool Engine::serial() const noexcept { return true; }
int64_t Engine::pending() const noexcept { return 0; }
void Engine::shutdown() noexcept {}

}  // namespace headrace
