#include "ops/onednn_isa.h"

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace headrace::onednn {

bool hides_tiles() noexcept {
#ifdef __x86_64__
  constexpr unsigned kFeatures = 7, kTiles = 0x1d, kAmxTile = 1u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) || !(d & kAmxTile)) return false;
  return !__get_cpuid_count(kTiles, 0, &a, &b, &c, &d) || a == 0;  // a: the largest palette
#else
  return false;
#endif
}

void avoid_unusable_instructions() {
#ifdef __x86_64__
  if (std::getenv("ONEDNN_MAX_CPU_ISA") || std::getenv("DNNL_MAX_CPU_ISA") || !hides_tiles()) return;
  static_cast<void>(dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_fp16));
#endif
}

}  // namespace headrace::onednn
