// How arrays of ranks become one, element by element. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headrace/dtype.hpp"

namespace headrace::collective {

enum class Fold : uint8_t { kSum, kMax, kMin };
const char* fold_name(Fold fold) noexcept;

// Of what is folded so far, where it is folded on: float32 for sums of floats of 16 bits, so that they are rounded
// once.
DType partial_dtype(Fold fold, DType dtype) noexcept;

// Writes the fold of the sources, of dtype `from`, in their order, into `target`, which may be one of them. One of
// `from` and `to` may be the partial_dtype() of the other. Floats of 16 bits are folded in 32 and rounded once.
void fold_into(std::byte* target, DType to, std::span<const std::byte* const> sources, DType from, Fold fold,
               size_t elements);

}  // namespace headrace::collective
