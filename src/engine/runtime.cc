#include "engine/runtime.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/config.h"
#include "base/denormals.h"
#include "base/slab.h"
#include "device/registry.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

// Threads end before anybody takes a lock, since what they do at their end needs locks.
void before_fork() {
  runtime().engine.quiesce_for_fork();
  backends_end_threads();
  runtime().engine.lock_for_fork();
  slab_before_fork();
  backends_before_fork();
  timeline::before_fork();
}

void after_fork_in_parent() {
  timeline::after_fork();
  backends_after_fork(false);
  slab_after_fork();
  runtime().engine.after_fork(false);
}

void after_fork_in_child() {
  timeline::after_fork();
  backends_after_fork(true);
  slab_after_fork();
  runtime().engine.after_fork(true);
}

// Late: what other libraries do at exit has been done by then.
void at_exit() {
  Runtime& own = runtime();
  own.shutdown();
  if (own.config.unread_errors == Config::UnreadErrors::kIgnore || !own.engine.report_unread_errors()) return;
  if (own.config.unread_errors == Config::UnreadErrors::kReport) return;
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

}  // namespace

bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

void Runtime::shutdown() noexcept { engine.shutdown(); }

Runtime& runtime() {
  static Runtime& instance = [&]() -> Runtime& {
    if (config().flush_denormals) flush_denormals();
    all_backends();  // what cannot be configured is said before anything runs
    auto* made = new Runtime{config(), Engine(config())};
    for (const BackendEntry& entry : all_backends())
      if (PushObserver* observer = entry.backend->observer()) made->engine.observe(observer);
    // Installed with the runtime: a process that never used the library forks at no cost.
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    std::atexit(at_exit);
    return *made;
  }();
  return instance;
}

}  // namespace headrace
