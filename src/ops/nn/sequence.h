// What the operators on batches of sequences of different lengths move.
#pragma once

#include <cstdint>

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

// What stands at step t of a sequence of `length` steps in the result.
enum class SequenceMove : uint8_t {
  kMask,     // what stands there, or the value from its end on
  kLast,     // without steps: what stands at its last step
  kSpread,   // at its last step what is there without steps, zero at all others
  kReverse,  // what stands as far from its end as this is from its beginning; behind its end what stands there
};

// From input 0 of the context to its output, both packed; input 1, where there is one, holds the lengths, which count
// as those nearest that there could be. `axis`: of time, 0 or 1; the other one is that of the sequences.
extern const KernelPartOf<void(KernelContext& context, SequenceMove move, int64_t axis, double value)> move_sequences;

}  // namespace headrace
