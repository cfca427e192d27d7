// Runs a test by each instruction set that this machine has and that kernels are compiled for.
#pragma once

#include <gtest/gtest.h>

#include "../../op/simd/kernel_testing.h"

namespace headrace::test {

template <class Body>
void on_every_target(const Body& body) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    SCOPED_TRACE(hwy::TargetName(target));
    const OnlyTargets only(target);
    body();
  }
}

}  // namespace headrace::test
