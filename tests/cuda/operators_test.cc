// Operators on the GPUs of the plug-in, with the stand-in for the driver: kernels of formulas and whatever is computed
// on the host give what the host gives, to rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "device/registry.h"
#include "op/kernel_table.h"
#include "tests/support/gpus.h"
#include "tests/support/operator_samples.h"

namespace headrace {
namespace {

using test::Outcome;
using test::outcome;
using test::Way;

std::vector<double> numbers(const NDArray& array) {
  const NDArray wide = cast_to(array, DType::kFloat64);
  std::vector<double> values(static_cast<size_t>(wide.size()));
  wide.copy_to_host(values.data());
  return values;
}

// Relative, and absolute below 1.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-13;
    case DType::kFloat16:
      return 2e-3;
    case DType::kBfloat16:
      return 2e-2;
    default:
      return 4e-6;
  }
}

// Functions are rounded differently, at most by a few units in the last place.
void expect_close(const NDArray& there, const NDArray& here) {
  ASSERT_EQ(there.shape(), here.shape());
  ASSERT_EQ(there.dtype(), here.dtype());
  if (!is_floating(here.dtype())) {
    EXPECT_EQ(bytes_of(there), bytes_of(here));
    return;
  }
  const std::vector<double> a = numbers(there), b = numbers(here);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i]))
      EXPECT_NEAR(a[i], b[i], tolerance(here.dtype()) * std::max(1.0, std::fabs(b[i])));
    else
      EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << a[i] << " for " << b[i];
  }
}

bool has_kernel(const OpDef& op) { return op.pointwise || op.kernel; }

class OperatorsOnCudaSlow : public ::testing::TestWithParam<Way> {};

TEST_P(OperatorsOnCudaSlow, GiveWhatTheHostGives) {
  for (const OpDef& op : catalogue().all()) {
    if (kernels_of(DeviceType::kGpu)->is_on_host(op) || !has_kernel(op)) continue;
    for (size_t s = 0; s < op.samples.size(); ++s) {
      SCOPED_TRACE(op.name + ", sample " + std::to_string(s));
      const Outcome expected = outcome(op, op.samples[s], GetParam(), {});
      const Outcome there = outcome(op, op.samples[s], GetParam(), kGpu0);
      EXPECT_EQ(there.error, expected.error);
      ASSERT_EQ(there.results.size(), expected.results.size());
      for (size_t k = 0; k < there.results.size(); ++k) expect_close(there.results[k], expected.results[k]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, OperatorsOnCudaSlow, ::testing::Values(Way::kAlone, Way::kStrided, Way::kGradient));

}  // namespace
}  // namespace headrace
