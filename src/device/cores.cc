#include "device/cores.h"

#include <algorithm>
#include <atomic>

#include "base/machine.h"

namespace headrace {
namespace {

std::atomic<int> busy_threads{0};  // announced threads and the further threads of wide loops
std::atomic<int> wide_loops{0};
std::atomic<int> task_threads{0};
[[gnu::tls_model("initial-exec")]] thread_local constinit int announced =
    0;  // BusyThread objects of this thread that count
[[gnu::tls_model("initial-exec")]] thread_local constinit int task_runs = 0;  // TaskThread objects of this thread

// Cores that other threads leave to this one; negative where more threads announce themselves than there are cores.
int cores_left() noexcept {
  static const int cores = core_count();
  return cores - busy_threads.load(std::memory_order_relaxed) + (announced ? 1 : 0);
}

}  // namespace

int idle_cores() noexcept { return std::clamp(cores_left(), 1, core_count()); }

bool loops_use_all_cores() noexcept { return wide_loop_runs() && cores_left() <= 0; }

bool wide_loop_runs() noexcept { return wide_loops.load(std::memory_order_relaxed) > 0; }

BusyThread::BusyThread(double cost_ns) noexcept : counts_(cost_ns >= kLongNs) {
  if (counts_ && announced++ == 0) busy_threads.fetch_add(1, std::memory_order_relaxed);
}

BusyThread::~BusyThread() {
  if (counts_ && --announced == 0) busy_threads.fetch_sub(1, std::memory_order_relaxed);
}

TaskThread::TaskThread() noexcept {
  if (task_runs++ == 0) task_threads.fetch_add(1, std::memory_order_relaxed);
}

TaskThread::~TaskThread() {
  if (--task_runs == 0) task_threads.fetch_sub(1, std::memory_order_relaxed);
}

bool other_threads_run_tasks() noexcept {
  return task_threads.load(std::memory_order_relaxed) > (task_runs > 0 ? 1 : 0);
}

WideLoop::WideLoop(int threads) noexcept : further_(threads - (announced ? 1 : 0)) {
  busy_threads.fetch_add(further_, std::memory_order_relaxed);
  wide_loops.fetch_add(1, std::memory_order_relaxed);
}

WideLoop::~WideLoop() {
  wide_loops.fetch_sub(1, std::memory_order_relaxed);
  busy_threads.fetch_sub(further_, std::memory_order_relaxed);
}

void forget_other_threads() noexcept {
  busy_threads.store(announced ? 1 : 0, std::memory_order_relaxed);
  task_threads.store(task_runs ? 1 : 0, std::memory_order_relaxed);
  wide_loops.store(0, std::memory_order_relaxed);
}

}  // namespace headrace
