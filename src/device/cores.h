// Who uses the cores of the host now. Threads that run tasks and loops that use several threads announce themselves;
// the sum tells a new loop how wide it may be and an idle thread whether it may spin. Approximate by nature.
#pragma once

#include <atomic>

namespace headrace {

struct CoreUse {
  std::atomic<int> busy{0};  // threads in a task or a parallel loop
  std::atomic<int> wide{0};  // parallel loops that use more than one thread now
};

CoreUse& core_use() noexcept;

}  // namespace headrace
