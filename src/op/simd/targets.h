// Included before Highway in every file that uses it: the instruction sets that kernels are compiled for. SSSE3 and
// SSE4 are left out (they cost compile time and no machine of interest stops there); SSE2, AVX2 and AVX-512 remain.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
