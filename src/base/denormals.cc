#include "base/denormals.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace headrace {

void flush_denormals() noexcept {
#if defined(__x86_64__)
  constexpr unsigned kResults = 1u << 15, kOperands = 1u << 6;
  _mm_setcsr(_mm_getcsr() | kResults | kOperands);
#elif defined(__aarch64__)
  constexpr uint64_t kFlush = uint64_t{1} << 24;
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" ::"r"(control | kFlush));
#endif
}

}  // namespace headrace
