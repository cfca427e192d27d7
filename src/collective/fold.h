// How arrays of ranks become one, element by element. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headrace/dtype.hpp"

namespace headrace::collective {

enum class Fold : uint8_t { kSum, kMax, kMin };
const char* fold_name(Fold fold) noexcept;

// Writes the fold of the sources, from first to last, into `target`, which may be one of them. Floats of 16 bits are
// folded in 32 and rounded once.
void fold_into(std::byte* target, std::span<const std::byte* const> sources, Fold fold, DType dtype, size_t elements);

}  // namespace headrace::collective
