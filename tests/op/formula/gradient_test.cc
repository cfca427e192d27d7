// Derived gradients against central differences, and the conventions at the points where there is no derivative.
#include "op/formula/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "headrace/error.hpp"
#include "op/formula/run.h"

namespace headrace {
namespace {

double value_at(const Formula& formula, std::vector<double> inputs, const std::vector<double>& parameters = {},
                int output = 0) {
  const Program program(formula, ComputeType::kFloat64);
  std::vector<Operand> operands, results;
  std::vector<double> values(formula.outputs.size());
  for (double& value : inputs) operands.push_back({&value, DType::kFloat64, nullptr});
  for (double& value : values) results.push_back({&value, DType::kFloat64, nullptr});
  run(program, Shape{}, operands, results, parameters);
  return values[output];
}

// The derivative at a point, with head gradients of 1.
double derivative(const Formula& formula, int wrt, std::vector<double> point,
                  const std::vector<double>& parameters = {}) {
  point.insert(point.end(), formula.outputs.size(), 1.0);
  return value_at(gradient(formula, wrt), point, parameters);
}

double difference(const Formula& formula, int wrt, std::vector<double> point, const std::vector<double>& parameters) {
  const double step = 1e-5 * std::fmax(1, std::fabs(point[wrt]));
  double sum = 0;
  for (size_t o = 0; o < formula.outputs.size(); ++o) {
    auto above = point, below = point;
    above[wrt] += step;
    below[wrt] -= step;
    sum += (value_at(formula, above, parameters, static_cast<int>(o)) -
            value_at(formula, below, parameters, static_cast<int>(o))) /
           (2 * step);
  }
  return sum;
}

const Expr x = input(0), y = input(1), z = input(2);
const Expr p = parameter(0);

struct Sample {
  std::string name;
  Expr formula;
  std::vector<std::vector<double>> points;  // values of x, y, z
};

std::vector<Sample> samples() {
  const std::vector<std::vector<double>> any = {{0.3, 1.7, -0.6}, {-1.4, 0.8, 2.3}, {2.6, -1.1, 0.4}, {-0.7, -2.2, 1}};
  const std::vector<std::vector<double>> positive = {{0.3, 1.7, 0.6}, {1.4, 0.8, 2.3}, {2.6, 1.1, 0.4}, {8.5, 3.2, 1}};
  const std::vector<std::vector<double>> inside = {
      {0.3, 0.7, 0.6}, {-0.4, 0.8, 0.3}, {0.92, -0.1, 0.4}, {-0.85, 0.2, 0.1}};
  return {
      {"arithmetic", (x + y) * (x - z) / (square(y) + 1) - -x, any},
      {"shared", exp(x * y) * exp(x * y) + x * x * x, any},
      {"sigmoid", 1 / (1 + exp(-x)), any},
      {"gelu", 0.5 * x * (1 + erf(x * M_SQRT1_2)), any},
      {"softplus", log1p(exp(-abs(x))) + max(x, 0), any},
      {"roots", sqrt(x) + rsqrt(y) + cbrt(z), positive},
      {"cubic roots", cbrt(x) * Expr::make(Opcode::kRcbrt, y), any},
      {"exponentials", exp2(x) + expm1(y) * exp(z), any},
      {"logarithms", log(x) + log2(y) * log10(z) + log1p(x), positive},
      {"circular", sin(x) * cos(y) + tan(z), any},
      {"inverse circular", asin(x) + acos(y) * atan(z), inside},
      {"hyperbolic", sinh(x) * cosh(y) + tanh(z), any},
      {"inverse hyperbolic", asinh(x) + acosh(y + 5) + atanh(z * 0.2), any},
      {"erfinv", erfinv(x) * erf(y), inside},
      {"gamma", gamma(x) + lgamma(y) * digamma(z), positive},
      {"power", pow(x, y) + pow(z, 2) + pow(y, p) + pow(2, z), positive},
      {"small powers", pow(x, 3) + pow(x, 1) + pow(x, -1) + pow(abs(x), 0.5), any},
      {"remainders", (x % y) + fmod(x, y) + fmod(x, 0.9), any},
      {"hypot", hypot(x, y) + atan2(y, z), any},
      {"copysign", copysign(x, y) + ldexp(x, y), any},
      {"extrema", min(x, y) * max(y, z) + max(x, 0.5) * min(p, x), any},
      {"select", select(x < y, x * y, y / (1 + square(z))), any},
      {"parameters", (x - p) * p / (1 + abs(y * p)), any},
      {"flat", floor(x) * y + sign(x) * z + rint(y) + round_to(x, DType::kInt8) * 2, any},
  };
}

TEST(Gradient, AgreesWithCentralDifferences) {
  const std::vector<double> parameters = {1.3};
  for (const Sample& sample : samples()) {
    const Formula formula{3, 1, {sample.formula}};
    for (const auto& point : sample.points) {
      for (int wrt = 0; wrt < 3; ++wrt) {
        const double expected = difference(formula, wrt, point, parameters);
        EXPECT_NEAR(derivative(formula, wrt, point, parameters), expected, 2e-7 * std::fmax(1, std::fabs(expected)))
            << sample.name << " by input " << wrt << " at (" << point[0] << ", " << point[1] << ", " << point[2] << ")";
      }
    }
  }
}

TEST(Gradient, SecondDerivatives) {
  for (const Expr& f : {tanh(x), 1 / (1 + exp(-x)), pow(x, 3), lgamma(x), log1p(square(x)), sqrt(x)}) {
    const Formula formula{1, 0, {f}};
    Formula first = gradient(formula, 0);
    for (const double at : {0.4, 1.9}) {
      const double step = 1e-5;
      const double expected = (derivative(formula, 0, {at + step}) - derivative(formula, 0, {at - step})) / (2 * step);
      EXPECT_NEAR(value_at(gradient(first, 0), {at, 1, 1}), expected, 1e-6);
    }
  }
}

TEST(Gradient, SeveralOutputsAddUp) {
  const Formula formula{2, 0, {x * y, exp(x)}};
  EXPECT_DOUBLE_EQ(value_at(gradient(formula, 0), {0.5, 3, 10, 100}), 30 + 100 * std::exp(0.5));
  EXPECT_DOUBLE_EQ(value_at(gradient(formula, 1), {0.5, 3, 10, 100}), 5);
}

TEST(Gradient, ConventionsAtKinks) {
  const auto at = [](const Expr& f, std::vector<double> point, int wrt = 0, std::vector<double> parameters = {0}) {
    return derivative({2, 1, {f}}, wrt, std::move(point), parameters);
  };
  EXPECT_EQ(at(select(x > 0, x, 0), {0, 0}), 0);  // relu
  EXPECT_EQ(at(abs(x), {0, 0}), 0);
  EXPECT_EQ(at(sqrt(x), {0, 0}), INFINITY);
  EXPECT_EQ(at(log(x), {0, 0}), INFINITY);
  EXPECT_EQ(at(max(x, y), {2, 2}, 0), 1);
  EXPECT_EQ(at(max(x, y), {2, 2}, 1), 0);
  EXPECT_EQ(at(min(x, y), {2, 2}, 0), 1);
  EXPECT_EQ(at(min(x, y), {2, 2}, 1), 0);
  EXPECT_EQ(at(max(x, 2), {2, 0}), 1);
  EXPECT_EQ(at(max(2, x), {2, 0}), 1);
  EXPECT_EQ(at(min(p, x), {2, 0}, 0, {2}), 1);
  for (const double value : {-1.0, 0.5, 2.0}) EXPECT_EQ(at(min(max(x, -1), 2), {value, 0}), 1) << "clip at " << value;
  EXPECT_EQ(at(min(max(x, -1), 2), {2.5, 0}), 0);
  EXPECT_TRUE(std::isnan(at(pow(x, p), {0, 0}, 0, {0})));
  EXPECT_EQ(at(sign(x) + floor(x) + round(x) + (x < y), {0.5, 1}), 0);
  EXPECT_EQ(at(stop_gradient(x) * x, {3, 0}), 3);
  EXPECT_EQ(at(exp(y), {3, 0}), 0);
}

TEST(Gradient, IsSimplified) {
  const auto instructions = [](const Expr& f) {
    return Program(gradient({2, 1, {f}}, 0), ComputeType::kFloat32).instructions().size();
  };
  EXPECT_EQ(instructions(x + y), 1u);         // a copy of dy
  EXPECT_EQ(instructions(x * y), 1u);         // dy * y
  EXPECT_EQ(instructions(x + p), 1u);         // a copy of dy
  EXPECT_EQ(instructions(floor(x) + y), 1u);  // a fill with zero
  EXPECT_EQ(instructions(exp(x)), 2u);        // exp, times dy
  EXPECT_EQ(instructions(square(x)), 2u);     // 2 x, times dy
}

TEST(Gradient, BadRequestsAreErrors) {
  EXPECT_THROW(gradient({1, 0, {x}}, 1), Error);
  EXPECT_THROW(gradient({1, 0, {x}}, -1), Error);
  EXPECT_THROW(gradient({1, 0, {trigamma(x)}}, 0), Error);
}

}  // namespace
}  // namespace headrace
