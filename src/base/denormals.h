// Denormal numbers: those too small for a full mantissa, for which some processors take a hundred times as long.
#pragma once

namespace headrace {

// The calling thread, and threads that it starts from now on, take denormal numbers for zero and give zero in their
// place. Where the processor is not known, nothing changes.
void flush_denormals() noexcept;

}  // namespace headrace
