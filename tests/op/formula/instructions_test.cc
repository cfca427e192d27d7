// Every instruction, in every compute type and operand form, against an independent reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../compute_types.h"
#include "op/formula/run.h"
#include "op/formula/transfer.h"
#include "reference.h"

namespace headrace {
namespace {

using test::kTypeOf;

// Runs a program over dense arrays.
template <class T>
std::vector<T> evaluate(const Program& program, const std::vector<std::vector<T>>& inputs,
                        const std::vector<double>& parameters = {}) {
  const int64_t stride = 1;
  const DType dtype = dtype_of(kTypeOf<T>);
  std::vector<T> result(inputs[0].size());
  std::vector<Operand> operands;
  for (const auto& input : inputs) operands.push_back({const_cast<T*>(input.data()), dtype, &stride});
  const Operand output{result.data(), dtype, &stride};
  run(program, Shape{static_cast<int64_t>(result.size())}, operands, {&output, 1}, parameters);
  return result;
}

template <class T>
std::vector<T> special_values() {
  if constexpr (std::is_integral_v<T>) {
    constexpr T kMax = std::numeric_limits<T>::max(), kMin = std::numeric_limits<T>::min(), kOne = 1;
    constexpr T kTop = kOne << (sizeof(T) * 8 - 2);
    return {0,  1,   T(-1),   2,   T(-2), 3,     T(-3),     7,     T(-7), 10,   31,       32,       63,          kTop,
            64, 127, T(-128), 255, 256,   32767, T(-32768), 65535, kMax,  kMin, kMax - 1, kMin + 1, kMax / 2 + 1};
  } else {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values = {0,
                             1,
                             2,
                             3,
                             0.5,
                             1.5,
                             2.5,
                             0.25,
                             0.1,
                             10,
                             100,
                             1000,
                             88.5,
                             89,
                             103.5,
                             104.5,
                             708.3,
                             709.5,
                             720.25,
                             710,
                             745,
                             746,
                             8388607.5,
                             0.4999999701976776,
                             1e5,
                             1e9,
                             1e15,
                             1e30,
                             Limits::min(),
                             Limits::denorm_min(),
                             Limits::min() / 3,
                             Limits::max(),
                             Limits::infinity(),
                             Limits::quiet_NaN(),
                             Limits::epsilon(),
                             1 - Limits::epsilon(),
                             1 + Limits::epsilon()};
    const size_t n = values.size();
    for (size_t i = 0; i < n; ++i) values.push_back(-values[i]);
    return values;
  }
}

template <class T>
std::vector<T> random_values(size_t n, std::mt19937_64& random) {
  std::vector<T> values(n);
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(static_cast<int64_t>(random()) >> (random() % 63));
    } else {
      const int kind = static_cast<int>(random() % 4);
      const double unit = std::uniform_real_distribution<double>(-1, 1)(random);
      const double wide = std::ldexp(unit, static_cast<int>(random() % 240) - 120);
      value = static_cast<T>(kind == 0 ? unit : kind == 1 ? unit * 10 : kind == 2 ? unit * 200 : wide);
    }
  }
  return values;
}

// Special values and random ones; pairs hold every pair of special values.
template <class T>
std::vector<std::vector<T>> arguments(int arity, std::mt19937_64& random) {
  const std::vector<T> special = special_values<T>();
  constexpr size_t kRandom = 4000;
  std::vector<std::vector<T>> result(3);
  for (const T a : special) {
    if (arity == 1) {
      result[0].push_back(a);
      continue;
    }
    for (const T b : special) {
      result[0].push_back(a);
      result[1].push_back(b);
      result[2].push_back(static_cast<T>(a + (std::is_floating_point_v<T> ? b : T{0})));
    }
  }
  for (auto& values : result) {
    const auto more = random_values<T>(kRandom, random);
    values.insert(values.end(), more.begin(), more.end());
  }
  result.resize(arity);
  return result;
}

Formula formula_of(Opcode op, int arity) {
  return {arity, 0, {Expr::make(op, input(0), input(arity > 1 ? 1 : 0), input(arity > 2 ? 2 : 0))}};
}

template <class T>
T expected(Opcode op, T a, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    return test::reference_integer<T>(op, a, b, c);
  } else {
    if (op == Opcode::kSelect) return a != 0 ? b : c;
    if (op == Opcode::kMulAdd) return a * b + c;
    if (op == Opcode::kMulSub) return a * b - c;
    if (op == Opcode::kRsubMul) return c - a * b;
    if (op == Opcode::kAddMul) return (a + b) * c;
    if (op == Opcode::kSubMul) return (a - b) * c;
    if (op == Opcode::kToFloat32) return static_cast<float>(a);
    const int arity = info(op).arity;
    // In long double these would be rounded twice.
    if (op == Opcode::kAdd) return a + b;
    if (op == Opcode::kSub) return a - b;
    if (op == Opcode::kMul) return a * b;
    if (op == Opcode::kDiv) return a / b;
    if (op == Opcode::kSquare) return a * a;
    if (op == Opcode::kSqrt) return std::sqrt(a);
    return static_cast<T>(arity == 1 ? test::reference_unary(op, a) : test::reference_binary(op, a, b));
  }
}

bool is_float_function(Opcode op) {
  using enum Opcode;
  return (op >= kSqrt && op <= kTrigamma && op != kSquare) || op == kHypot || op == kAtan2 || op == kCopysign ||
         op == kLdexp || op == kToFloat16 || op == kToBfloat16 || op == kToFloat32;
}

bool is_integer_instruction(Opcode op) {
  using enum Opcode;
  return op == kBitNot || (op >= kBitAnd && op <= kLcm) || (op >= kToInt8 && op <= kToUint32) || op == kToFloat16 ||
         op == kToBfloat16;
}

bool is_gamma_function(Opcode op) {
  using enum Opcode;
  return op == kDigamma || op == kLgamma || op == kGamma || op == kTrigamma;
}

// Allowed distance from the rounded exact value, in units of the last place.
uint64_t tolerance(Opcode op) {
  using enum Opcode;
  const bool elementary =
      (op >= kRsqrt && op <= kTrigamma && op != kSquare) || op == kPow || op == kHypot || op == kAtan2 || op == kLdexp;
  return elementary ? 4 : 0;
}

template <class T>
class InstructionTest : public testing::Test {};
using ComputeTypes = testing::Types<float, double, int32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(InstructionTest, ComputeTypes);

template <class T>
bool agrees(Opcode op, T got, T want) {
  if constexpr (std::is_integral_v<T>) {
    return got == want;
  } else {
    // Near its zeros a gamma function is as good as its terms.
    const auto error = std::fabs(static_cast<long double>(got) - want);
    if (is_gamma_function(op) && error <= 8 * std::numeric_limits<T>::epsilon() * std::fmax(T{1}, std::fabs(want)))
      return true;
    const bool same_zero = got != 0 || want != 0 || std::signbit(got) == std::signbit(want);
    return test::ulps_apart(got, want) <= tolerance(op) && same_zero;
  }
}

TYPED_TEST(InstructionTest, AgreesWithReference) {
  using T = TypeParam;
  std::mt19937_64 random(7);
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto op = static_cast<Opcode>(i);
    if (std::is_integral_v<T> ? is_float_function(op) : is_integer_instruction(op)) continue;
    const int arity = info(op).arity;
    auto values = arguments<T>(arity, random);
    if constexpr (std::is_integral_v<T>) {
      if (op == Opcode::kPow) std::for_each(values[1].begin(), values[1].end(), [](T& exponent) { exponent %= 1000; });
    }
    const auto got = evaluate<T>(Program(formula_of(op, arity), kTypeOf<T>), values);
    int shown = 0;
    for (size_t k = 0; k < got.size() && shown < 5; ++k) {
      const T a = values[0][k], b = arity > 1 ? values[1][k] : T{}, c = arity > 2 ? values[2][k] : T{};
      const T want = expected<T>(op, a, b, c);
      if (agrees(op, got[k], want)) continue;
      ++shown;
      ADD_FAILURE() << info(op).name << "(" << +a << ", " << +b << ", " << +c << ") gives " << +got[k] << ", expected "
                    << +want;
    }
  }
}

// Functions of integers are those of doubles, truncated.
TYPED_TEST(InstructionTest, FunctionsOfIntegersTruncate) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    for (int i = 0; i < kOpcodeCount; ++i) {
      const auto op = static_cast<Opcode>(i);
      if (!is_float_function(op) || info(op).arity != 1 || op == Opcode::kToFloat16 || op == Opcode::kToBfloat16)
        continue;
      const std::vector<T> values = {0, 1, 2, 3, 5, 10, 17};
      const auto got = evaluate<T>(Program(formula_of(op, 1), kTypeOf<T>), {values});
      for (size_t k = 0; k < values.size(); ++k) {
        const double exact = static_cast<double>(expected<double>(op, values[k], 0, 0));
        if (std::isfinite(exact) && std::fabs(exact) < 1e9 && std::fabs(exact - std::round(exact)) > 1e-9) {
          EXPECT_EQ(got[k], static_cast<T>(exact)) << info(op).name << "(" << values[k] << ")";
        }
      }
    }
    EXPECT_EQ(evaluate<T>(Program(formula_of(Opcode::kExp, 1), kTypeOf<T>), {{1}})[0], 2);
  }
}

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

// A value's bits do not depend on where it stands nor on how many stand beside it.
TYPED_TEST(InstructionTest, BitsDoNotDependOnPosition) {
  using T = TypeParam;
  std::mt19937_64 random(8);
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto op = static_cast<Opcode>(i);
    const int arity = info(op).arity;
    const Program program(formula_of(op, arity), kTypeOf<T>);
    const auto values = arguments<T>(arity, random);
    const auto whole = evaluate<T>(program, values);
    for (size_t n = 1; n < 40; n += 1 + n / 4) {
      const size_t first = random() % (whole.size() - n);
      std::vector<std::vector<T>> part;
      for (const auto& column : values) part.emplace_back(column.begin() + first, column.begin() + first + n);
      const std::vector<T> same(whole.begin() + first, whole.begin() + first + n);
      EXPECT_EQ(bytes_of(evaluate<T>(program, part)), bytes_of(same)) << info(op).name << " at " << first << ", " << n;
    }
  }
}

// A parameter or constant as operand gives what an array of it gives.
TYPED_TEST(InstructionTest, ScalarOperandsAgreeWithArrays) {
  using T = TypeParam;
  std::mt19937_64 random(9);
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto op = static_cast<Opcode>(i);
    const int arity = info(op).arity;
    if (arity == 1) continue;
    const auto values = arguments<T>(arity, random);
    for (int mask = 1; mask < (1 << arity); ++mask) {
      const size_t chosen = random() % values[0].size();
      auto arrays = values;
      std::vector<double> parameters;
      Expr operands[] = {input(0), input(1), input(arity > 2 ? 2 : 1)};
      for (int k = 0; k < arity; ++k) {
        if ((mask & (1 << k)) == 0) continue;
        T value = values[k][chosen];
        if (std::is_integral_v<T> && static_cast<T>(static_cast<double>(value)) != value) value = 5;
        std::fill(arrays[k].begin(), arrays[k].end(), value);
        operands[k] = parameter(static_cast<int>(parameters.size()));
        parameters.push_back(static_cast<double>(value));
      }
      const int count = static_cast<int>(parameters.size());
      const Program scalar({arity, count, {Expr::make(op, operands[0], operands[1], operands[2])}}, kTypeOf<T>);
      const Program array(formula_of(op, arity), kTypeOf<T>);
      EXPECT_EQ(bytes_of(evaluate<T>(scalar, arrays, parameters)), bytes_of(evaluate<T>(array, arrays)))
          << info(op).name << " with scalars " << mask;
    }
  }
}

TEST(Instructions, RoundingThroughStorageTypes) {
  const std::vector<float> values = {0,           1.0f + 1.0f / 256 + 1.0f / 4096,
                                     1.00390625f, 300,
                                     -1.7f,       65504,
                                     65520,       70000,
                                     1e-8f,       NAN,
                                     INFINITY,    5.9604645e-8f};
  for (const DType dtype :
       {DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kUint8, DType::kInt16, DType::kBool, DType::kInt32}) {
    const auto direct = evaluate<float>(Program({1, 0, {round_to(input(0), dtype)}}, ComputeType::kFloat32), {values});
    std::vector<uint64_t> stored(values.size());
    std::vector<float> loaded(values.size());
    const auto n = static_cast<int64_t>(values.size());
    store_function(ComputeType::kFloat32, dtype)(values.data(), stored.data(), 1, n);
    load_function(dtype, ComputeType::kFloat32)(loaded.data(), stored.data(), 1, n);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_TRUE(direct[i] == loaded[i] || (std::isnan(direct[i]) && std::isnan(loaded[i])))
          << dtype_name(dtype) << " " << values[i];
  }
  EXPECT_EQ(evaluate<float>(Program({1, 0, {round_to(input(0), DType::kBfloat16)}}, ComputeType::kFloat32),
                            {{1.0f + 1.0f / 256 + 1.0f / 4096}})[0],
            1.0078125f);
}

}  // namespace
}  // namespace headrace
