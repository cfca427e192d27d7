// A simulated GPU gives the bits of the host for every operator.
#include <gtest/gtest.h>

#include "headrace/sim.hpp"
#include "tests/support/gpus.h"
#include "tests/support/operator_samples.h"

namespace headrace {
namespace {

using test::Outcome;
using test::outcome;
using test::Way;

class OperatorsOnGpus : public ::testing::TestWithParam<Way> {
 protected:
  OperatorsOnGpus() { sim::configure({.gpus = 1, .clock = sim::Clock::kVirtual}); }
};

TEST_P(OperatorsOnGpus, GiveTheBitsOfTheHost) {
  for (const OpDef& op : catalogue().all()) {
    for (size_t s = 0; s < op.samples.size(); ++s) {
      SCOPED_TRACE(op.name + ", sample " + std::to_string(s));
      const Outcome expected = outcome(op, op.samples[s], GetParam(), {});
      const Outcome there = outcome(op, op.samples[s], GetParam(), kGpu0);
      EXPECT_EQ(there.error, expected.error);
      if (op.is_random) continue;
      EXPECT_EQ(there.results.size(), expected.results.size());
      for (size_t k = 0; k < there.results.size(); ++k)
        EXPECT_TRUE(bytes_of(there.results[k]) == bytes_of(expected.results[k])) << "array " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OperatorsOnGpus,
                         ::testing::Values(Way::kAlone, Way::kStrided, Way::kGraph, Way::kGradient));

}  // namespace
}  // namespace headrace
