// Parallel loops inside one task, on the oneTBB threads that all tasks share. Any thread may call these functions.
// A loop gets as many threads as its cost justifies (one per kCostPerThreadNs) and as cores are idle. One that is too
// short for that is shared with threads that are awake and have nothing to do, if there are any (device/shared_loop.h).
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "device/cores.h"

namespace headrace {

inline constexpr double kCostPerThreadNs = 50'000;
inline constexpr double kLeastSharedNs = 4'000;  // below it, a loop is not worth being divided at all

// How many threads work of this cost is worth: clamp(cost / cost per thread, 1, core_count()). The same in every run.
int width_for(double total_cost_ns, double cost_per_thread_ns = kCostPerThreadNs) noexcept;
// How many it gets now: clamp(cost / cost per thread, 1, idle_cores()).
int threads_for(double total_cost_ns, double cost_per_thread_ns = kCostPerThreadNs) noexcept;

// Calls body(begin, end) for disjoint ranges that cover [0, n), each of at least `grain` except the last; once, in
// this thread, when it costs less than kLeastSharedNs. A long loop that finds no core idle widens as soon as one is.
// What a body throws is raised here after all running bodies have ended.
//
// Where ranges end depends on what else runs, but they begin at multiples of `grain`: a body's results are the same in
// every run when it treats each `grain` indices alike.
void parallel_for(int64_t n, int64_t grain, double total_cost_ns, FunctionRef<void(int64_t begin, int64_t end)> body);

// Runs `body` inside an arena of this width: a library that uses oneTBB inside sees room for that many threads, and
// divides its sums accordingly. So many serve as cores are idle, which no result depends on.
void run_in_arena_of(int width, FunctionRef<void()> body);

// Around fork(), while no loop runs: the threads end and come back with the next loop, in parent and child. Where
// other users of oneTBB keep them, loops in the child run in one thread.
void parallel_before_fork() noexcept;
void parallel_after_fork(bool in_child) noexcept;

}  // namespace headrace
