// What is done with batches of sequences of different lengths.
#pragma once

#include "op/kernel.h"
#include "op/kernel_part.h"

namespace headrace {

enum class SequenceWork : uint8_t {
  kMask,     // output is input, but for `value` behind the end of each sequence
  kLast,     // output is the last element of each sequence
  kSpread,   // output is zero but for the last element of each sequence, which is input's
  kReverse,  // output is each sequence backwards; what lies behind its end stays
};

// Input 0 and output 0 are data (time, batch, ...), or (batch, time, ...) with axis 1, the last elements without time.
// Input 1, if there is one, holds the lengths of any dtype; those out of range are brought there.
extern const KernelPartOf<void(KernelContext& context, SequenceWork work, int64_t axis, double value)> run_sequences;

}  // namespace headrace
