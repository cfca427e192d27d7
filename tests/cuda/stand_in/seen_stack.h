// What sanitizers are told of a thread of the host that leaves one stack for another. Without them these functions do
// nothing.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

extern "C" {
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#endif

#include <cstddef>

namespace stand_in {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSeesRaces = true;
#else
inline constexpr bool kSeesRaces = false;
#endif

// A stack as the sanitizers know it. What ThreadSanitizer takes for a thread belongs to it, so two of them that write
// to one place race unless one has come to the other by meet() and part().
struct SeenStack {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* kept = nullptr;
};

inline SeenStack stack_of_host() {
  SeenStack stack;
#if defined(__SANITIZE_THREAD__)
  stack.kept = __tsan_get_current_fiber();
#endif
  return stack;
}

inline SeenStack new_stack(const void* bottom, size_t bytes) {
  SeenStack stack{bottom, bytes};
#if defined(__SANITIZE_THREAD__)
  stack.kept = __tsan_create_fiber(0);
#endif
  return stack;
}

inline void forget([[maybe_unused]] SeenStack& stack) {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(stack.kept);
#endif
}

// Right before a thread of the host goes from one to the other.
inline void leaves([[maybe_unused]] SeenStack& from, [[maybe_unused]] const SeenStack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.kept, to.bottom, to.bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.kept, 1);  // 1: nothing is ordered by it
#endif
}

// Right after it has come to one from the other.
inline void comes([[maybe_unused]] SeenStack& to, [[maybe_unused]] SeenStack& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(to.kept, &from.bottom, &from.bytes);
#endif
}

// All that came before part(place) comes before all that follows meet(place).
inline void part([[maybe_unused]] void* place) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(place);
#endif
}
inline void meet([[maybe_unused]] void* place) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(place);
#endif
}

// ThreadSanitizer looks at what a stack does, or at nothing: at first it does.
inline void look([[maybe_unused]] bool does) {
#if defined(__SANITIZE_THREAD__)
  does ? __tsan_ignore_thread_end() : __tsan_ignore_thread_begin();
#endif
}

}  // namespace stand_in
