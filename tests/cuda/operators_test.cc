// Operators on the GPUs of the plug-in, with the stand-in for the driver: kernels give what the host gives, to
// rounding.
#include <gtest/gtest.h>

#include "device/registry.h"
#include "headrace/random.hpp"
#include "op/kernel_table.h"
#include "tests/cuda/beside_host.h"
#include "tests/support/operator_samples.h"

namespace headrace {
namespace {

using test::Outcome;
using test::Way;

// Draws begin anew, so that both devices have the same.
Outcome seeded_outcome(const OpDef& op, const Sample& sample, Way way, Device device) {
  random::seed(7);
  return test::outcome(op, sample, way, device);
}

bool has_kernel(const OpDef& op) { return op.pointwise || op.kernel; }

class OperatorsOnCudaSlow : public ::testing::TestWithParam<Way> {};

TEST_P(OperatorsOnCudaSlow, GiveWhatTheHostGives) {
  for (const OpDef& op : catalogue().all()) {
    if (kernels_of(DeviceType::kGpu)->is_on_host(op) || !has_kernel(op)) continue;
    for (size_t s = 0; s < op.samples.size(); ++s) {
      SCOPED_TRACE(op.name + ", sample " + std::to_string(s));
      const Outcome expected = seeded_outcome(op, op.samples[s], GetParam(), {});
      const Outcome there = seeded_outcome(op, op.samples[s], GetParam(), kGpu0);
      EXPECT_EQ(there.error, expected.error);
      ASSERT_EQ(there.results.size(), expected.results.size());
      const double times = op.name == "_npi_svd" || op.name == "_linalg_syevd" ? kOfVectors : 1;
      for (size_t k = 0; k < there.results.size(); ++k) expect_close(there.results[k], expected.results[k], times);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OperatorsOnCudaSlow, ::testing::Values(Way::kAlone, Way::kStrided, Way::kGradient));

}  // namespace
}  // namespace headrace
