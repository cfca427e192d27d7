// Backlog fusion: what piled up behind a slow task runs in few passes, writes what can be seen, and changes no bit.
#include "op/call_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "headrace/error.hpp"
#include "op/fused.h"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/sanitizers.h"
#include "timeline/timeline.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kRows = 40, kColumns = 1000;  // dear enough to be queued
const Shape kShape{kRows, kColumns};

// While it lives, nothing that reads or writes the array runs.
class Gate {
 public:
  explicit Gate(const NDArray& array) {
    Var* const var = &array.view()->storage()->var();
    runtime().engine.push({.name = "gate", .writes = {&var, 1}, .may_block = true}, [open = open_, keep = array] {
      while (!*open) std::this_thread::yield();
    });
  }
  ~Gate() { *open_ = true; }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

NDArray values(uint64_t seed = 1, DType dtype = DType::kFloat32) { return varied(kShape, dtype, seed); }

NDArray scalar_op(const char* name, const NDArray& x, double scalar) { return call(name, {x}, {{"scalar", scalar}}); }

void write(const char* name, const NDArray& x, double scalar, NDArray out) {
  const OpDef& op = find_op(name);
  invoke(op, attrs_of(op, {{"scalar", scalar}}), {&x, 1}, {&out, 1});
}

// Names of what ran, while the calls pile up behind a gate on `x`.
template <class Calls>
std::vector<std::string> spans_of(const NDArray& x, const Calls& calls) {
  runtime().engine.wait_all();
  timeline::start();
  {
    Gate gate(x);
    calls();
  }
  runtime().engine.wait_all();
  timeline::stop();
  std::vector<std::string> names;
  for (const timeline::Lane& lane : timeline::collect())
    for (const timeline::Event& event : lane.events)
      if (std::string_view(event.name) != "gate" && std::string_view(event.name) != "wait") names.push_back(event.name);
  return names;
}

class CallGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runtime().engine.serial() || !runtime().config.fusion) GTEST_SKIP() << "nothing queues up, or nothing is fused";
  }
};

TEST_F(CallGroups, AChainIsOnePass) {
  const NDArray x = values();
  NDArray y;
  const auto names =
      spans_of(x, [&] { y = call("tanh", {scalar_op("_plus_scalar", scalar_op("_mul_scalar", x, 2), 1)}); });
  EXPECT_THAT(names, ElementsAre("fused _mul_scalar, _plus_scalar, tanh"));
}

TEST_F(CallGroups, OnlyWhatCanBeSeenIsWritten) {
  const NDArray x = values();
  const Allocator& allocator = allocator_of(Device{});
  NDArray kept, last;
  int64_t before = 0;
  spans_of(x, [&] {
    kept = scalar_op("_mul_scalar", x, 2);
    last = scalar_op("_plus_scalar", call("tanh", {call("square", {kept})}), 3);
    before = allocator.stats().live;
    allocator_of(Device{}).reset_peak();
  });
  const int64_t array_bytes = kRows * kColumns * 4;
  EXPECT_LT(allocator.stats().peak - before, 3 * array_bytes);
  EXPECT_EQ(kept.to_vector<float>(), scalar_op("_mul_scalar", x, 2).to_vector<float>());
}

TEST_F(CallGroups, ResultsThatNobodyCanSeeAreNotComputed) {
  const NDArray x = values();
  EXPECT_THAT(spans_of(x, [&] { call("tanh", {call("square", {x})}); }), ElementsAre("unused"));
}

// As many as a group takes, and all but one of them are written as well.
TEST_F(CallGroups, ArraysMayBeReadAndWritten) {
  std::vector<NDArray> arrays;
  for (size_t i = 0; i < kMostFusedArrays; ++i) arrays.push_back(values(i));
  std::vector<std::string> expected{bytes_of(arrays[0])};
  NDArray sum = arrays[0];
  for (size_t i = 1; i < arrays.size(); ++i) {
    sum = call("elemwise_add", {arrays[i], sum});
    expected.push_back(bytes_of(sum));
  }
  const auto names = spans_of(arrays[0], [&] {
    const OpDef& add = find_op("elemwise_add");
    for (size_t i = 1; i < arrays.size(); ++i) {
      const NDArray inputs[] = {arrays[i], arrays[i - 1]};
      invoke(add, add.default_attrs, inputs, {&arrays[i], 1});
    }
  });
  EXPECT_EQ(names.size(), 1u);
  for (size_t i = 0; i < arrays.size(); ++i) EXPECT_EQ(bytes_of(arrays[i]), expected[i]) << i;
}

TEST_F(CallGroups, OtherShapesAndComputeTypesStayOut) {
  const NDArray x = values(), wide = varied({2, kRows, kColumns}, DType::kFloat32, 2);
  NDArray a, b;
  const auto names = spans_of(x, [&] {
    a = call("broadcast_add", {call("square", {x}), wide});
    b = call("square", {call("Cast", {call("tanh", {x})}, {{"dtype", DType::kFloat64}})});
  });
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("square", "broadcast_add", "tanh", "fused Cast, square"));
}

TEST_F(CallGroups, WritesThatOverlapWithAShiftStayInOrder) {
  const NDArray x = values(), expected = contiguous(call("_copy", {x}));
  const auto shifted = [](const NDArray& array, int64_t row) {
    return view_of(array, {{kRows - 1, kColumns}, {kColumns, 1}, row * kColumns});
  };
  const auto program = [&](const NDArray& array, bool waits) {
    write("_plus_scalar", shifted(array, 0), 1, shifted(array, 0));
    if (waits) array.wait_to_read();
    write("_mul_scalar", shifted(array, 0), 2, shifted(array, 1));
    if (waits) array.wait_to_read();
    write("_plus_scalar", shifted(array, 1), 3, shifted(array, 1));
  };
  program(expected, true);
  spans_of(x, [&] { program(x, false); });
  EXPECT_EQ(x.to_vector<float>(), expected.to_vector<float>());
}

TEST_F(CallGroups, AnErrorGoesWhereItBelongs) {
  const NDArray x = values(), broken = values(2);
  NDArray good, bad;
  spans_of(x, [&] {
    Var* const var = &broken.view()->storage()->var();
    runtime().engine.push({.name = "break", .writes = {&var, 1}}, [] { fail(ErrorKind::kValue, "broken on purpose"); });
    good = scalar_op("_plus_scalar", x, 1);
    bad = call("elemwise_add", {good, broken});
    try {
      runtime().engine.wait_to_read(*var);
    } catch (const Error&) {
    }
  });
  EXPECT_NO_THROW(good.wait_to_read());
  EXPECT_THROW(bad.wait_to_read(), Error);
}

// --- random programs -------------------------------------------------------------------------------------------------

// A program over a pool of arrays: pointwise operations, broadcasting, casts, updates in place, handles that go away.
class RandomCalls {
 public:
  RandomCalls(uint64_t seed, DType dtype, bool waits) : random_(seed), waits_(waits), first_(values(seed, dtype)) {
    pool_ = {first_, values(seed + 1, dtype), varied({kColumns}, dtype, seed + 2), varied({kRows, 1}, dtype, seed + 3)};
    for (NDArray& array : pool_) array = contiguous(array);
  }
  const NDArray& first() const { return first_; }

  void run() {
    for (int i = 0; i < 25; ++i) {
      try {
        step();
      } catch (const Error&) {  // an operator that does not take these dtypes or shapes: nothing was done
      }
    }
  }

  std::vector<NDArray> results() const { return pool_; }

 private:
  size_t below(size_t n) { return random_() % n; }
  NDArray any() { return pool_[below(pool_.size())]; }

  void keep(const NDArray& made) {
    if (waits_) made.wait_to_read();
    if (pool_.size() > 4 && below(2))
      pool_[1 + below(pool_.size() - 1)] = made;
    else
      pool_.push_back(made);
  }

  void step() {
    static const std::vector<const char*> unary{"tanh", "square", "relu", "negative", "_copy", "logical_not"};
    static const std::vector<const char*> scalar{"_plus_scalar", "_mul_scalar", "_rminus_scalar", "_maximum_scalar",
                                                 "_greater_scalar"};
    static const std::vector<const char*> binary{"broadcast_add", "broadcast_mul", "broadcast_sub", "broadcast_maximum",
                                                 "broadcast_greater"};
    const size_t kind = below(10);
    if (kind < 3) return keep(call(unary[below(unary.size())], {any()}));
    if (kind < 5) return keep(scalar_op(scalar[below(scalar.size())], any(), 0.5));
    if (kind < 8) return keep(call(binary[below(binary.size())], {any(), any()}));
    if (kind == 8) return keep(call("Cast", {any()}, {{"dtype", below(2) ? DType::kFloat16 : DType::kFloat32}}));
    const NDArray target = any();
    write("_mul_scalar", target, 0.75, target);
    if (waits_) target.wait_to_read();
  }

  std::mt19937_64 random_;
  const bool waits_;
  NDArray first_;
  std::vector<NDArray> pool_;
};

class CallGroupDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(CallGroupDTypes, QueuedCallsHaveTheBitsOfSingleOnes) {
  constexpr uint64_t kSeeds = test::kIsSanitized ? 10 : 60;
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomCalls one_by_one(seed, GetParam(), true), queued(seed, GetParam(), false);
    one_by_one.run();
    {
      Gate gate(queued.first());
      queued.run();
    }
    const auto expected = one_by_one.results(), results = queued.results();
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(bytes_of(results[i]), bytes_of(expected[i])) << "array " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CallGroupDTypes,
                         ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16,
                                           DType::kInt32, DType::kInt8, DType::kBool),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace headrace
