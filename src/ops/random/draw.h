// Samples of any distribution.
#pragma once

#include <span>

#include "op/kernel.h"
#include "op/kernel_part.h"
#include "ops/random/distributions.h"

namespace headrace {

struct Draws {
  const DistributionInfo& distribution;
  std::span<const double> numbers;  // its parameters, where no arrays hold them
  bool as_np;                       // by np's rules, of mt19937 from np's stream
};
// inputs: arrays of parameters, if any; output: as many samples for each set of parameters
extern const KernelPartOf<void(KernelContext& context, const Draws& draws)> draw_samples;

}  // namespace headrace
