// The kernels of every instruction set of this machine against the scalar meaning of the instructions, densely.
#include "op/simd/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <hwy/targets.h>
#include "../formula/reference.h"
#include "kernel_testing.h"

namespace headrace {
namespace {

using test::kTypeOf;
using test::OnlyTargets;
using test::values_of;

OpcodeKernels table_for(ComputeType type, int64_t target) {
  const OnlyTargets only(target);
  return make_kernels(type);
}

// Exact instructions must agree in every bit; the others within 4 units in the last place of the C library's value.
uint64_t tolerance(Opcode op) {
  using enum Opcode;
  const bool is_function = (op >= kRsqrt && op <= kTrigamma && op != kSquare) || op == kPow || op == kHypot;
  return is_function ? 4 : 0;
}

template <class T>
bool agrees(Opcode op, T got, T want) {
  if constexpr (std::is_integral_v<T>) {
    return got == want;
  } else {
    return test::ulps_apart(got, want) <= tolerance(op) && (std::isnan(got) || std::signbit(got) == std::signbit(want));
  }
}

template <class T>
class KernelTest : public testing::Test {};
using ComputeTypes = testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(KernelTest, ComputeTypes);

TYPED_TEST(KernelTest, EveryTargetAgreesWithScalarMeaning) {
  using T = TypeParam;
  constexpr size_t kCount = 200'003;
  const auto a = values_of<T>(kCount, 1), b = values_of<T>(kCount, 2), c = values_of<T>(kCount, 3);
  OpcodeKernels scalar;
  add_lane_kernels(scalar, kTypeOf<T>);
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    const OpcodeKernels table = table_for(kTypeOf<T>, target);
    for (int i = 0; i < kOpcodeCount; ++i) {
      const auto op = static_cast<Opcode>(i);
      const Kernel kernel = table.get(op, 0);
      ASSERT_NE(kernel, nullptr);
      if (kernel == scalar.get(op, 0)) continue;
      std::vector<T> got(kCount), want(kCount);
      kernel(got.data(), a.data(), b.data(), c.data(), kCount);
      scalar.get(op, 0)(want.data(), a.data(), b.data(), c.data(), kCount);
      int shown = 0;
      for (size_t k = 0; k < kCount && shown < 3; ++k) {
        if (agrees(op, got[k], want[k])) continue;
        ++shown;
        ADD_FAILURE() << hwy::TargetName(target) << " " << info(op).name << "(" << +a[k] << ", " << +b[k] << ") gives "
                      << +got[k] << ", expected " << +want[k];
      }
    }
  }
}

}  // namespace
}  // namespace headrace
