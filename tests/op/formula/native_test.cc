// Machine code against the kernels that it replaces: the same bits for every instruction, width and length.
#include "op/formula/native.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "../simd/kernel_testing.h"
#include "headrace/error.hpp"
#include "op/formula/program.h"
#include "op/formula/run.h"

namespace headrace {
namespace {

using test::kTypeOf;
using test::values_of;

// Those that this machine can run.
std::vector<NativeSet> native_sets() {
  std::vector<NativeSet> sets{NativeSet::kAvx2, NativeSet::kAvx512};
  std::erase_if(sets, [](NativeSet set) { return set > machine_set(); });
  return sets;
}

const char* name_of(NativeSet set) { return set == NativeSet::kAvx2 ? "AVX2" : "AVX-512"; }

// The values that a program gives, one vector after the other; what lies behind them must stay as it is.
template <class T>
std::vector<T> outputs_of(const Program& program, std::vector<std::vector<T>> inputs, size_t n,
                          std::span<const double> parameters) {
  constexpr T kGuard = 12345;
  const int64_t stride = 1;
  const DType dtype = kTypeOf<T> == ComputeType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  std::vector<std::vector<T>> results(program.num_outputs(), std::vector<T>(n + 32, kGuard));
  std::vector<Operand> from, to;
  for (auto& values : inputs) from.push_back({values.data(), dtype, &stride});
  for (auto& values : results) to.push_back({values.data(), dtype, &stride});
  run(program, Shape{static_cast<int64_t>(n)}, from, to, parameters);
  std::vector<T> all;
  for (const auto& values : results) {
    for (size_t i = n; i < values.size(); ++i) EXPECT_EQ(values[i], kGuard) << "element " << i << " of " << n;
    all.insert(all.end(), values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return all;
}

template <class T>
bool same_bits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b) || (std::isnan(a) && std::isnan(b));
}

template <class T>
class NativeTest : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(NativeTest, RealTypes);

TYPED_TEST(NativeTest, EveryInstructionHasTheBitsOfItsKernel) {
  using T = TypeParam;
  constexpr size_t kCount = 20'011;
  const std::vector<std::vector<T>> inputs{values_of<T>(kCount, 1), values_of<T>(kCount, 2), values_of<T>(kCount, 3)};
  for (const NativeSet set : native_sets()) {
    int made = 0;
    for (int i = 0; i < kOpcodeCount; ++i) {
      const auto op = static_cast<Opcode>(i);
      // The second output makes a neighbour, without which no code is made.
      const Formula formula{3, 0, {Expr::make(op, input(0), input(1), input(2)), -input(0)}};
      const Program native(formula, kTypeOf<T>, set), kernels(formula, kTypeOf<T>, NativeSet::kNone);
      if (native.steps().size() != 1) continue;
      ++made;
      const auto got = outputs_of<T>(native, inputs, kCount, {}), want = outputs_of<T>(kernels, inputs, kCount, {});
      for (size_t k = 0; k < kCount; ++k)
        ASSERT_TRUE(same_bits(got[k], want[k]))
            << name_of(set) << " " << info(op).name << "(" << inputs[0][k] << ", " << inputs[1][k] << ", "
            << inputs[2][k] << ") gives " << got[k] << ", its kernel " << want[k];
    }
    EXPECT_GE(made, 30);
  }
}

constexpr Opcode kSome[] = {Opcode::kAdd, Opcode::kSub,    Opcode::kMul, Opcode::kDiv, Opcode::kMin,  Opcode::kMax,
                            Opcode::kLt,  Opcode::kSelect, Opcode::kAbs, Opcode::kNeg, Opcode::kSqrt, Opcode::kExp};

// Many values alive at once, so that the registers run out, with functions between that have no code.
Formula crowded_formula(std::mt19937_64& random) {
  Formula formula{static_cast<int>(1 + random() % 9), static_cast<int>(random() % 12), {}};
  std::vector<Expr> pool;
  for (int i = 0; i < formula.num_inputs; ++i) pool.push_back(input(i));
  for (int k = 0; k < formula.num_parameters; ++k) pool.push_back(parameter(k));
  const auto any = [&] { return pool[random() % pool.size()]; };
  const auto count = static_cast<size_t>(random() % 80);
  for (size_t k = 0; k < count; ++k)
    pool.push_back(Expr::make(kSome[random() % std::size(kSome)], any(), any(), any()));
  for (size_t k = 0; k <= random() % 4; ++k) formula.outputs.push_back(any());
  formula.outputs.push_back(pool.back());
  return formula;
}

TYPED_TEST(NativeTest, RandomProgramsHaveTheBitsOfTheirKernels) {
  using T = TypeParam;
  for (const NativeSet set : native_sets()) {
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      std::mt19937_64 random(seed);
      const Formula formula = crowded_formula(random);
      const size_t n = seed % 3 == 0 ? 1 + random() % 3000 : 1 + random() % 40;
      std::vector<std::vector<T>> inputs;
      for (int i = 0; i < formula.num_inputs; ++i) inputs.push_back(values_of<T>(n, random()));
      std::vector<double> parameters(static_cast<size_t>(formula.num_parameters));
      for (double& value : parameters) value = static_cast<double>(random() % 64) / 8 - 4;
      const Program native(formula, kTypeOf<T>, set), kernels(formula, kTypeOf<T>, NativeSet::kNone);
      EXPECT_LE(native.steps().size(), kernels.steps().size());
      const auto got = outputs_of<T>(native, inputs, n, parameters),
                 want = outputs_of<T>(kernels, inputs, n, parameters);
      for (size_t k = 0; k < got.size(); ++k)
        ASSERT_TRUE(same_bits(got[k], want[k]))
            << name_of(set) << ", seed " << seed << ", output " << k / n << ", element " << k % n << " of " << n;
    }
  }
}

TEST(Native, FunctionsWithoutCodeStandBetween) {
  if (native_sets().empty()) GTEST_SKIP() << "no machine code is made for this processor";
  const Expr x = input(0);
  const auto steps = [](const Expr& y) {
    return Program({1, 0, {y}}, ComputeType::kFloat32, machine_set()).steps().size();
  };
  EXPECT_EQ(steps((x + 1) / 2), 1u);
  EXPECT_EQ(steps(exp((x + 1) / 2)), 2u);
  EXPECT_EQ(steps(1 / (1 + exp((x + 1) / 2))), 3u);
  EXPECT_EQ(steps(x + 1), 1u);
  EXPECT_EQ(Program({1, 0, {(x + 1) / 2}}, ComputeType::kInt32, machine_set()).steps().size(), 2u);
  EXPECT_EQ(Program({1, 0, {(x + 1) / 2}}, ComputeType::kFloat32, NativeSet::kNone).steps().size(), 2u);
}

TEST(Native, WhatLiesBetweenNeedsNoTile) {
  if (native_sets().empty()) GTEST_SKIP() << "no machine code is made for this processor";
  Expr y = input(0);
  for (int i = 0; i < 20; ++i) y = (y + 1) / (y - 1);
  EXPECT_EQ(Program({1, 0, {y}}, ComputeType::kFloat32, machine_set()).num_registers(), 0);
  EXPECT_GT(Program({1, 0, {y}}, ComputeType::kFloat32, NativeSet::kNone).num_registers(), 0);
}

}  // namespace
}  // namespace headrace
