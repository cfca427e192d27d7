// Included before Highway in every file that uses it: the instruction sets that kernels are compiled for. On x86 AVX2
// and AVX-512; machines older than that run the lane kernels, which the compiler vectorises for its baseline.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
