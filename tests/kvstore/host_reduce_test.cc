#include "kvstore/host_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/arrays.h"

namespace headrace::kvstore {
namespace {

std::vector<NDArray> values_of(size_t count, const Shape& shape, DType dtype) {
  std::vector<NDArray> values;
  for (size_t i = 0; i < count; ++i) values.push_back(varied(shape, dtype, 10 + i));
  return values;
}

// What the reduction gives two arrays at a time.
NDArray in_turn(const Reduction& reduction, std::span<const NDArray> values) {
  NDArray result = NDArray::empty(values[0].shape(), values[0].dtype());
  copy_into(result, values[0]);
  for (const NDArray& value : values.subspan(1)) reduction.combine_into(result, value);
  reduction.finish(result, values.size());
  return result;
}

TEST(HostReduce, IsTheReductionInTurn) {
  for (const char* name : {"sum", "mean", "max", "min"})
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kUint8})
      for (size_t count : {1, 2, 3, 8, 9, 20})
        for (int64_t elements : {0, 1, 5000}) {
          const Reduction reduction{std::string_view(name)};
          if (reduction.divides() && !is_floating(dtype)) continue;
          const std::vector<NDArray> values = values_of(count, {elements}, dtype);
          const std::string expected = headrace::bytes_of(in_turn(reduction, values));
          const NDArray results[] = {NDArray::empty({elements}, dtype), NDArray::empty({elements}, dtype)};
          const NDArray kept = NDArray::empty({elements}, dtype);
          reduce_on_host(reduction, values, results, kept, Extent::kInCache);
          for (const NDArray& result : {results[0], results[1], kept})
            EXPECT_EQ(headrace::bytes_of(result), expected)
                << name << " of " << count << " x " << elements << dtype_name(dtype);
        }
}

TEST(HostReduce, WritesWhereItReads) {
  for (Extent extent : {Extent::kInCache, Extent::kBeyondCaches})
    for (int64_t elements : {10, 300'000}) {
      std::vector<NDArray> values = values_of(3, {elements}, DType::kFloat32);
      const std::string expected = headrace::bytes_of(in_turn(Reduction(), values));
      const NDArray other = NDArray::empty({elements});
      const NDArray results[] = {values[2], values[0], other};  // in another order
      reduce_on_host(Reduction(), values, results, {}, extent);
      for (const NDArray& result : results) EXPECT_EQ(headrace::bytes_of(result), expected);
    }
}

TEST(HostReduce, TakesArraysThatLieInAnyWay) {
  const NDArray whole = varied({6, 8}, DType::kFloat32, 3);
  const NDArray columns = call("transpose", {varied({8, 3}, DType::kFloat32, 4)});
  const NDArray rows = call("slice_axis", {whole}, {{"axis", int64_t{0}}, {"begin", int64_t{0}}, {"end", int64_t{3}}});
  const NDArray values[] = {rows, columns};
  const std::string expected = headrace::bytes_of(in_turn(Reduction(), values));
  const NDArray transposed = call("transpose", {NDArray::empty({8, 3})});
  // A result that overlaps a value in part: rows 1 to 3 of what rows 0 to 2 are read from.
  const NDArray shifted =
      call("slice_axis", {whole}, {{"axis", int64_t{0}}, {"begin", int64_t{1}}, {"end", int64_t{4}}});
  const NDArray results[] = {transposed, shifted};
  reduce_on_host(Reduction(), values, results, {}, Extent::kInCache);
  EXPECT_EQ(headrace::bytes_of(transposed), expected);
  EXPECT_EQ(headrace::bytes_of(shifted), expected);
}

TEST(HostReduce, PacksWhatLiesOtherwise) {
  for (size_t count : {1, 2}) {
    std::vector<NDArray> values;
    for (uint64_t i = 0; i < count; ++i) values.push_back(call("transpose", {varied({8, 3}, DType::kFloat32, 5 + i)}));
    const std::string expected = headrace::bytes_of(in_turn(Reduction(), values));
    const NDArray result = NDArray::empty({3, 8}), kept = NDArray::empty({3, 8});
    reduce_on_host(Reduction(), values, {&result, 1}, {}, Extent::kInCache);
    EXPECT_EQ(headrace::bytes_of(result), expected);
    reduce_on_host(Reduction(), values, {}, kept, Extent::kInCache);
    EXPECT_EQ(headrace::bytes_of(kept), expected);
  }
}

TEST(HostReduce, RoundsHalvesOnce) {
  std::vector<NDArray> values;
  for (float value : {2048.0f, 1.0f, 1.0f}) values.push_back(cast_to(array({value}), DType::kFloat16));
  const NDArray result = NDArray::empty({1}, DType::kFloat16);
  reduce_on_host(Reduction(), values, {&result, 1}, {}, Extent::kInCache);
  EXPECT_EQ(result.item(), 2050);  // in float16 2048 + 1 is 2048
}

TEST(HostReduce, LargeResultsShareMemoryUntilOneIsWritten) {
  const Shape shape{300, 200};
  std::vector<NDArray> values = values_of(2, shape, DType::kFloat32);
  const std::string expected = headrace::bytes_of(in_turn(Reduction(), values));
  const NDArray other = NDArray::empty(shape), kept = NDArray::empty(shape);
  const NDArray results[] = {values[0], values[1], other};
  reduce_on_host(Reduction(), values, results, kept, Extent::kBeyondCaches);
  for (const NDArray& result : results) {
    result.wait_to_read();
    EXPECT_EQ(result.view()->data(), kept.view()->data());
  }
  copy_into(view_of(values[0], {{1, 1}, {200, 1}, 0}), array({7}, {1, 1}));
  copy_into(kept, full(shape, 3, DType::kFloat32, Device{}));
  EXPECT_NE(headrace::bytes_of(values[0]), expected);
  EXPECT_EQ(headrace::bytes_of(values[0]).substr(4), expected.substr(4));
  EXPECT_EQ(headrace::bytes_of(values[1]), expected);
  EXPECT_EQ(headrace::bytes_of(other), expected);
  EXPECT_EQ(headrace::bytes_of(kept), headrace::bytes_of(full(shape, 3, DType::kFloat32, Device{})));
}

TEST(HostReduce, TakesSeveralViewsOfOneArray) {
  const Shape shape{200, 200};
  const auto view_again = [&](const NDArray& array) {
    return view_of(array, {array.shape(), array.strides(), array.view()->offset()});
  };
  for (const char* name : {"sum", "max"}) {
    const Reduction reduction{std::string_view(name)};
    std::vector<NDArray> values = values_of(2, shape, DType::kFloat32);
    const std::string expected = headrace::bytes_of(in_turn(reduction, values));
    const NDArray kept = NDArray::empty(shape), other = NDArray::empty(shape);
    const NDArray results[] = {view_again(values[0]), other, view_again(other), values[1], view_again(values[1])};
    reduce_on_host(reduction, values, results, kept, Extent::kBeyondCaches);
    // Now all share memory; one of them is passed on to itself and to the others.
    reduce_on_host(Reduction(), {&other, 1}, results, view_again(kept), Extent::kBeyondCaches);
    for (const NDArray& result : results) EXPECT_EQ(headrace::bytes_of(result), expected);
    EXPECT_EQ(headrace::bytes_of(kept), expected);
  }
}

// Every array holds one number in its first half and one in the second, which the program knows without running.
TEST(HostReduce, RandomProgramsOverSharedMemory) {
  constexpr int64_t kHalf = 10'000;
  struct Known {
    NDArray array;
    float halves[2];
  };
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<Known> all;
    for (int i = 0; i < 5; ++i)
      all.push_back({full({2, kHalf}, i, DType::kFloat32, Device{}), {static_cast<float>(i), static_cast<float>(i)}});
    for (int step = 0; step < 200; ++step) {
      Known &a = all[below(5)], &b = all[below(5)], &c = all[below(5)];
      const size_t half = below(2);
      if (&a == &b || &b == &c || &a == &c) continue;
      const NDArray outs[] = {b.array, c.array};
      switch (below(5)) {
        case 0:
          reduce_on_host(Reduction(), {&a.array, 1}, outs, {}, Extent::kInCache);
          for (size_t k : {0, 1}) b.halves[k] = c.halves[k] = a.halves[k];
          break;
        case 1:
          reduce_on_host(Reduction(std::string_view("max")), outs, outs, a.array, Extent::kBeyondCaches);
          for (size_t k : {0, 1}) a.halves[k] = b.halves[k] = c.halves[k] = std::max(b.halves[k], c.halves[k]);
          break;
        case 2:
          copy_into(a.array, call("_plus_scalar", {a.array}, {{"scalar", 1.0}}));
          for (float& value : a.halves) ++value;
          break;
        case 3:
          copy_into(view_of(a.array, {{1, kHalf}, {kHalf, 1}, static_cast<int64_t>(half) * kHalf}),
                    full({1, kHalf}, step, DType::kFloat32, Device{}));
          a.halves[half] = static_cast<float>(step);
          break;
        default:
          a.array = copied_to(a.array, Device{});
      }
    }
    for (const Known& one : all) {
      const std::vector<float> values = one.array.to_vector<float>();
      for (int64_t i = 0; i < 2 * kHalf; ++i)
        ASSERT_EQ(values[static_cast<size_t>(i)], one.halves[i / kHalf]) << "seed " << seed << ", element " << i;
    }
  }
}

TEST(HostReduce, PassesErrorsOn) {
  const NDArray bad = call("take", {array({1, 2}), array({7})}, {{"mode", std::string("raise")}});
  const NDArray values[] = {array({1}), bad}, result = NDArray::empty({1});
  reduce_on_host(Reduction(), values, {&result, 1}, {}, Extent::kInCache);
  EXPECT_EQ(kind_of([&] { result.wait_to_read(); }), ErrorKind::kIndex);
}

TEST(Reduction, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(kind_of([] { Reduction{std::string_view("median")}; }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { Reduction{std::string_view("mean")}.check_dtype(DType::kInt32); }), ErrorKind::kType);
  const Reduction bad{Combine([](const NDArray&, const NDArray&) { return array({1, 2}); })};
  EXPECT_EQ(kind_of([&] { bad.combine_into(array({1}), array({2})); }), ErrorKind::kValue);
}

}  // namespace
}  // namespace headrace::kvstore
