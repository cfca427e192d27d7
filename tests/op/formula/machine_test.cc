// The tile machine against a naive evaluator: random programs over random shapes, strides, element types and aliasing.
#include "op/formula/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../compute_types.h"
#include "base/dtype_dispatch.h"
#include "headrace/error.hpp"
#include "op/formula/numeric_cast.h"
#include "op/formula/run.h"

namespace headrace {
namespace {

using test::kTypeOf;

using Random = std::mt19937_64;

int64_t pick(Random& random, int64_t low, int64_t high) {  // both ends included
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// An array inside a larger buffer, with its own strides over the iteration space.
struct Array {
  DType dtype = DType::kFloat32;
  std::vector<uint8_t> buffer;
  int64_t offset = 0;  // of the first element
  Strides strides;
  void* data() { return buffer.data() + offset * static_cast<int64_t>(item_size(dtype)); }
  Operand operand() { return {data(), dtype, strides.data()}; }
};

// Lays the space out densely in a random order of its dimensions, with random gaps and directions. `broadcast` lets
// some dimensions be repeated.
Array make_array(const Shape& space, DType dtype, bool broadcast, Random& random) {
  Array array;
  array.dtype = dtype;
  std::vector<size_t> order(space.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = d;
  if (pick(random, 0, 2) == 0) std::shuffle(order.begin(), order.end(), random);
  array.strides.resize(space.size());
  int64_t stride = pick(random, 0, 4) == 0 ? 2 : 1;
  const bool may_reverse = pick(random, 0, 3) == 0, may_repeat = broadcast && pick(random, 0, 1) == 0;
  for (size_t k = order.size(); k-- > 0;) {
    const size_t d = order[k];
    if (may_repeat && pick(random, 0, 1) == 0) {
      array.strides[d] = 0;
      continue;
    }
    array.strides[d] = stride;
    stride *= space[d];
    if (may_reverse && pick(random, 0, 1) == 0 && space[d] > 0) {
      array.offset += array.strides[d] * (space[d] - 1);
      array.strides[d] = -array.strides[d];
    }
    if (pick(random, 0, 5) == 0) stride += 3;
  }
  array.buffer.resize(static_cast<size_t>(std::max<int64_t>(stride, 1)) * 2 * item_size(dtype) + 16);
  dispatch(dtype, [&]<class T>() {
    auto* data = reinterpret_cast<T*>(array.buffer.data());
    const size_t n = array.buffer.size() / sizeof(T);
    for (size_t i = 0; i < n; ++i) data[i] = numeric_cast<T>(static_cast<double>(pick(random, -40, 40)) / 4);
  });
  return array;
}

int64_t place(const Shape& space, const Strides& strides, int64_t position) {
  int64_t offset = 0;
  for (size_t d = space.size(); d-- > 0;) {
    offset += position % space[d] * strides[d];
    position /= space[d];
  }
  return offset;
}

// Instructions whose result one C++ expression gives exactly.
constexpr Opcode kExact[] = {Opcode::kNeg, Opcode::kAbs, Opcode::kAdd, Opcode::kSub, Opcode::kMul,
                             Opcode::kMin, Opcode::kMax, Opcode::kLt,  Opcode::kEq,  Opcode::kSelect};

template <class T>
T exact(Opcode op, T a, T b, T c) {
  using Wide = std::conditional_t<std::is_integral_v<T>, __int128, T>;
  const Wide x = a, y = b;
  switch (op) {
    case Opcode::kNeg:
      return static_cast<T>(-x);
    case Opcode::kAbs:
      return static_cast<T>(x <= 0 ? 0 - x : x);
    case Opcode::kAdd:
      return static_cast<T>(x + y);
    case Opcode::kSub:
      return static_cast<T>(x - y);
    case Opcode::kMul:
      return static_cast<T>(x * y);
    case Opcode::kMin:
      return a <= b ? a : b;
    case Opcode::kMax:
      return a >= b ? a : b;
    case Opcode::kLt:
      return a < b;
    case Opcode::kEq:
      return a == b;
    default:
      return a != 0 ? b : c;
  }
}

template <class T>
T exact_value(const Expr& x, const std::vector<T>& inputs, const std::vector<double>& parameters,
              std::unordered_map<const Expr::Node*, T>& known) {
  if (const auto place = known.find(x.node()); place != known.end()) return place->second;
  T value{};
  switch (x.kind()) {
    case Expr::Kind::kInput:
      value = inputs[x.index()];
      break;
    case Expr::Kind::kConstant:
      value = numeric_cast<T>(x.value());
      break;
    case Expr::Kind::kParameter:
      value = numeric_cast<T>(parameters[x.index()]);
      break;
    case Expr::Kind::kInstruction: {
      T arguments[3] = {};
      for (int i = 0; i < x.arity(); ++i) arguments[i] = exact_value(x.argument(i), inputs, parameters, known);
      value = exact(x.opcode(), arguments[0], arguments[1], arguments[2]);
    }
  }
  return known[x.node()] = value;
}

Formula random_formula(Random& random) {
  Formula formula{static_cast<int>(pick(random, 1, 4)), static_cast<int>(pick(random, 0, 2)), {}};
  std::vector<Expr> pool;
  for (int i = 0; i < formula.num_inputs; ++i) pool.push_back(input(i));
  for (int k = 0; k < formula.num_parameters; ++k) pool.push_back(parameter(k));
  pool.push_back(static_cast<double>(pick(random, -3, 3)));
  const auto any = [&] { return pool[pick(random, 0, static_cast<int64_t>(pool.size()) - 1)]; };
  for (int64_t n = pick(random, 0, 12); n > 0; --n)
    pool.push_back(Expr::make(kExact[pick(random, 0, std::size(kExact) - 1)], any(), any(), any()));
  for (int64_t n = pick(random, 1, 3); n > 0; --n) formula.outputs.push_back(any());
  return formula;
}

Shape random_shape(Random& random) {
  Shape shape;
  const int64_t ndim = pick(random, 0, 5);
  for (int64_t d = 0; d < ndim; ++d) shape.push_back(pick(random, 0, 30) == 0 ? 0 : pick(random, 1, ndim > 3 ? 5 : 12));
  if (!shape.empty() && pick(random, 0, 2) == 0) shape.back() = pick(random, 200, 1500);
  return shape;
}

constexpr DType kFloatTypes[] = {DType::kFloat32,  DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                 DType::kBfloat16, DType::kInt32,   DType::kUint8,   DType::kBool};
constexpr DType kIntegerTypes[] = {DType::kInt32, DType::kInt32,  DType::kInt64,  DType::kInt8,   DType::kUint8,
                                   DType::kInt16, DType::kUint16, DType::kUint32, DType::kUint64, DType::kBool};

template <class T>
struct Case {
  Shape space;
  Formula formula;
  std::vector<double> parameters;
  std::vector<Array> inputs, outputs;
  std::vector<int> alias;  // which input an output lies on, or -1
};

template <class T>
Case<T> random_case(Random& random) {
  constexpr bool kIsReal = std::is_floating_point_v<T>;
  const DType own = std::is_same_v<T, float>     ? DType::kFloat32
                    : std::is_same_v<T, double>  ? DType::kFloat64
                    : std::is_same_v<T, int32_t> ? DType::kInt32
                                                 : DType::kInt64;
  const auto dtype = [&] {
    if (pick(random, 0, 1) == 0) return own;
    return kIsReal ? kFloatTypes[pick(random, 0, 7)] : kIntegerTypes[pick(random, 0, 9)];
  };
  Case<T> result;
  result.space = random_shape(random);
  result.formula = random_formula(random);
  for (int k = 0; k < result.formula.num_parameters; ++k)
    result.parameters.push_back(static_cast<double>(pick(random, -8, 8)) / 2);
  for (int i = 0; i < result.formula.num_inputs; ++i)
    result.inputs.push_back(make_array(result.space, dtype(), true, random));
  std::vector<bool> taken(result.inputs.size(), false);
  for (size_t o = 0; o < result.formula.outputs.size(); ++o) {
    const int candidate = static_cast<int>(pick(random, 0, static_cast<int64_t>(result.inputs.size()) - 1));
    const Strides& strides = result.inputs[candidate].strides;
    const bool repeats = std::find(strides.begin(), strides.end(), 0) != strides.end();
    const bool in_place = pick(random, 0, 2) == 0 && !taken[candidate] && !repeats;
    if (in_place) taken[candidate] = true;
    result.alias.push_back(in_place ? candidate : -1);
    result.outputs.push_back(in_place ? result.inputs[candidate] : make_array(result.space, dtype(), false, random));
  }
  return result;
}

// Writes what each output should hold into its buffer, element by element.
template <class T>
void run_naively(Case<T>& c) {
  const int64_t count = element_count(c.space);
  for (int64_t position = 0; position < count; ++position) {
    std::vector<T> values;
    for (Array& array : c.inputs) {
      dispatch(array.dtype, [&]<class Stored>() {
        values.push_back(numeric_cast<T>(static_cast<Stored*>(array.data())[place(c.space, array.strides, position)]));
      });
    }
    std::unordered_map<const Expr::Node*, T> known;
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      const T value = exact_value(c.formula.outputs[o], values, c.parameters, known);
      Array& array = c.outputs[o];
      dispatch(array.dtype, [&]<class Stored>() {
        static_cast<Stored*>(array.data())[place(c.space, array.strides, position)] = numeric_cast<Stored>(value);
      });
    }
  }
}

template <class T>
void run_on_machine(Case<T>& c) {
  const Program program(c.formula, kTypeOf<T>);
  std::vector<Operand> inputs, outputs;
  for (Array& array : c.inputs) inputs.push_back(array.operand());
  for (size_t o = 0; o < c.outputs.size(); ++o)
    outputs.push_back((c.alias[o] >= 0 ? c.inputs[c.alias[o]] : c.outputs[o]).operand());
  run(program, c.space, inputs, outputs, c.parameters);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    if (c.alias[o] >= 0) c.outputs[o].buffer = c.inputs[c.alias[o]].buffer;
  }
}

template <class T>
class MachineTest : public testing::Test {};
using ComputeTypes = testing::Types<float, double, int32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(MachineTest, ComputeTypes);

TYPED_TEST(MachineTest, RandomProgramsAgreeWithNaiveEvaluation) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    Case<TypeParam> machine = random_case<TypeParam>(random), naive = machine;
    run_naively(naive);
    run_on_machine(machine);
    for (size_t o = 0; o < machine.outputs.size(); ++o) {
      ASSERT_EQ(machine.outputs[o].buffer, naive.outputs[o].buffer)
          << "seed " << seed << ", shape " << std::string(to_string(machine.space)) << ", output " << o << " of "
          << dtype_name(machine.outputs[o].dtype) << (machine.alias[o] >= 0 ? " in place" : "");
    }
  }
}

// The values a reader gives are those that run would store densely.
TYPED_TEST(MachineTest, ReaderAgreesWithRun) {
  using T = TypeParam;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    Case<T> c = random_case<T>(random);
    c.formula.outputs.resize(1, input(0));
    const int64_t count = element_count(c.space);
    const Program program(c.formula, kTypeOf<T>);
    std::vector<Operand> inputs;
    for (Array& array : c.inputs) inputs.push_back(array.operand());
    const Strides dense = contiguous_strides(c.space);
    std::vector<T> stored(count + 1);
    const DType dtype = dtype_of(kTypeOf<T>);
    const Operand output{stored.data(), dtype, dense.data()};
    run(program, c.space, inputs, {&output, 1}, c.parameters);
    if (count == 0) continue;
    TileReader reader(program, c.space, inputs, c.parameters);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const int64_t first = pick(random, 0, count - 1), n = pick(random, 1, std::min<int64_t>(kTile, count - first));
      ASSERT_EQ(std::memcmp(reader.read(first, n), stored.data() + first, n * sizeof(T)), 0) << "seed " << seed;
    }
  }
}

TEST(Machine, EqualSubexpressionsAreComputedOnce) {
  const Expr x = input(0), y = input(1);
  const Program program({2, 0, {exp(x + y) * exp(y + x) + exp(x + y)}}, ComputeType::kFloat32);
  EXPECT_EQ(program.instructions().size(), 3u);  // +, exp, * with +
}

TEST(Machine, ConstantsFold) {
  const Program program({1, 1, {input(0) * (exp(constant(0)) + 1) + parameter(0) * parameter(0)}},
                        ComputeType::kFloat64);
  EXPECT_EQ(program.instructions().size(), 1u);  // * with +
  EXPECT_EQ(program.prologue().size(), 1u);
}

TEST(Machine, RoundingToTheComputeTypeIsNothing) {
  const Expr rounded = round_to(round_to(input(0) + 1, DType::kFloat32) * 2, DType::kFloat32);
  EXPECT_EQ(Program({1, 0, {rounded}}, ComputeType::kFloat32).instructions().size(), 1u);
  EXPECT_EQ(Program({1, 0, {rounded}}, ComputeType::kFloat64).instructions().size(), 4u);
}

TEST(Machine, ProductsPairWithSumsInRealPrograms) {
  const Expr x = input(0), y = input(1), twice = x * y;
  const auto count = [](std::vector<Expr> outputs, ComputeType type = ComputeType::kFloat32) {
    return Program({2, 1, std::move(outputs)}, type).instructions().size();
  };
  EXPECT_EQ(count({2 * x + y}), 1u);
  EXPECT_EQ(count({y - x * parameter(0)}), 1u);
  EXPECT_EQ(count({(1 - x) * y}), 1u);
  EXPECT_EQ(count({x * 2 + y}, ComputeType::kInt32), 2u);
  EXPECT_EQ(count({twice + 1, twice}), 2u);  // the product is needed itself
  EXPECT_EQ(count({(twice + 1) * (twice - 1)}), 3u);
}

TEST(Machine, WrongCountsAreErrors) {
  const Program program({1, 1, {input(0) + parameter(0)}}, ComputeType::kFloat32);
  float value = 1;
  const int64_t stride = 1;
  const Operand operand{&value, DType::kFloat32, &stride};
  const double one = 1;
  EXPECT_THROW(run(program, Shape{1}, {}, {&operand, 1}, {&one, 1}), Error);
  EXPECT_THROW(run(program, Shape{1}, {&operand, 1}, {&operand, 1}, {}), Error);
  EXPECT_THROW(Program({1, 0, {input(1)}}, ComputeType::kFloat32), Error);
  EXPECT_THROW(Program({1, 0, {parameter(0)}}, ComputeType::kFloat32), Error);
  EXPECT_THROW(Program({1, 0, {}}, ComputeType::kFloat32), Error);
}

// However the positions are shared out among threads, the bits are the same.
TEST(Machine, BitsDoNotDependOnThreads) {
  constexpr int64_t kRows = 301, kColumns = 701;
  const Expr x = input(0), bias = input(1);
  const Program program({2, 0, {tanh(x + bias) * pow(abs(x), 0.3) + sin(bias)}}, ComputeType::kFloat32);
  std::vector<float> in(kRows * kColumns), row(kColumns), whole(in.size());
  Random random(4);
  for (float& value : in) value = std::uniform_real_distribution<float>(-4, 4)(random);
  for (float& value : row) value = std::uniform_real_distribution<float>(-4, 4)(random);
  const int64_t dense[] = {kColumns, 1}, repeated[] = {0, 1};
  const auto run_rows = [&](std::vector<float>& out, int64_t begin, int64_t end) {
    const int64_t offset = begin * kColumns;
    const Operand operands[] = {{in.data() + offset, DType::kFloat32, dense}, {row.data(), DType::kFloat32, repeated}};
    const Operand result{out.data() + offset, DType::kFloat32, dense};
    run(program, Shape{end - begin, kColumns}, operands, {&result, 1}, {});
  };
  run_rows(whole, 0, kRows);
  for (const int64_t threads : {2, 3, 7, 16}) {
    std::vector<float> parts(in.size());
    std::vector<std::thread> workers;
    for (int64_t t = 0; t < threads; ++t)
      workers.emplace_back([&, t] { run_rows(parts, kRows * t / threads, kRows * (t + 1) / threads); });
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0) << threads << " threads";
  }
}

// Large dense results, written past the caches and by several threads, have the bits of small ones; in all dtypes that
// they are stored in, wherever they begin.
TEST(Machine, LargeArraysHaveTheBitsOfSmallOnes) {
  const Expr x = input(0);
  const Program chain({1, 1, {1 / (1 + exp(-x * parameter(0)))}}, ComputeType::kFloat32),
      comparison({1, 1, {x > parameter(0)}}, ComputeType::kFloat32);
  constexpr int64_t kBytes = int64_t{9} << 20, kPart = 1000;
  std::vector<float> in(kBytes);
  Random random(3);
  for (float& value : in) value = std::uniform_real_distribution<float>(-20, 20)(random);
  const int64_t stride = 1;
  const double scale = 0.7;
  for (const Program* program : {&chain, &comparison}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBfloat16, DType::kUint8, DType::kBool}) {
      const auto width = static_cast<int64_t>(item_size(dtype));
      const int64_t count = kBytes / width - 77;
      std::vector<char> out(kBytes), part(kPart * width);
      const auto apply = [&](int64_t first, int64_t n, char* to) {
        const Operand from{in.data() + first, DType::kFloat32, &stride}, result{to, dtype, &stride};
        run(*program, Shape{n}, {&from, 1}, {&result, 1}, {&scale, 1});
      };
      char* const whole = out.data() + width;
      apply(0, count, whole);
      for (int64_t first = 0; first < count; first += kPart) {
        const int64_t n = std::min(kPart, count - first);
        apply(first, n, part.data());
        ASSERT_EQ(std::memcmp(part.data(), whole + first * width, n * width), 0) << static_cast<int>(dtype) << first;
      }
    }
  }
}

}  // namespace
}  // namespace headrace
