#include "op/thread_state.h"

#include <atomic>
#include <utility>

namespace headrace {

namespace detail {

constinit thread_local ThreadState thread_state;

}  // namespace detail

void begin_tape() noexcept {
  static std::atomic<uint32_t> last{0};
  thread_state().tape = last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool switch_recording(bool on) noexcept {
  const bool was_on = std::exchange(thread_state().recording, on);
  if (on && !was_on) begin_tape();
  return was_on;
}

}  // namespace headrace
