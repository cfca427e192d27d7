// What tiles hold of memory, and memory of tiles, against one cast after the other.
#include "op/formula/transfer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"

namespace headrace {
namespace {

constexpr ComputeType kComputeTypes[] = {ComputeType::kFloat32, ComputeType::kFloat64, ComputeType::kInt32,
                                         ComputeType::kInt64, ComputeType::kUint64};

// More than vectors hold, among them what no integer does.
std::vector<double> numbers_to_cast() {
  std::vector<double> all = {0, 1, -1, 2.5, -2.5, 127, 128, 255, 300, -300, 65504, 1e6, -1e6, 3e9, 1e20, NAN, 0, -0.0};
  for (int i = 0; i < 100; ++i) all.push_back(0.75 * i - 20);
  return all;
}

// Not std::vector, whose bools are bits.
template <class T>
using Values = std::unique_ptr<T[]>;

template <class T>
Values<T> spread(const std::vector<double>& values, int64_t stride) {
  Values<T> all = std::make_unique<T[]>(values.size() * static_cast<size_t>(stride));
  for (size_t i = 0; i < values.size(); ++i) all[i * static_cast<size_t>(stride)] = numeric_cast<T>(values[i]);
  return all;
}

template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class Memory, class Tile>
void expect_casts(Load load, Store store) {
  const std::vector<double> all = numbers_to_cast();
  const auto n = static_cast<int64_t>(all.size());
  const Values<Tile> tile = std::make_unique<Tile[]>(all.size());
  for (const int64_t stride : {1, 3}) {
    const Values<Memory> memory = spread<Memory>(all, stride),
                         stored = spread<Memory>({all.rbegin(), all.rend()}, stride);
    load(tile.get(), memory.get(), stride, n);
    store(tile.get(), stored.get(), stride, n);
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t place = i * static_cast<size_t>(stride);
      EXPECT_TRUE(same(tile[i], numeric_cast<Tile>(memory[place]))) << "load of " << all[i];
      EXPECT_TRUE(same(stored[place], numeric_cast<Memory>(tile[i]))) << "store of " << all[i];
    }
  }
  const Values<Memory> memory = spread<Memory>(all, 1);
  load(tile.get(), &memory[3], 0, n);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(same(tile[i], numeric_cast<Tile>(memory[3])));
}

TEST(Transfer, CastsEveryTypeToEveryTile) {
  for (int dtype = 0; dtype < kDTypeCount; ++dtype)
    for (const ComputeType type : kComputeTypes)
      dispatch(static_cast<DType>(dtype), [&]<class Memory>() {
        dispatch(dtype_of(type), [&]<class Tile>() {
          SCOPED_TRACE(std::string(dtype_name(static_cast<DType>(dtype))) + " and " +
                       std::string(dtype_name(dtype_of(type))));
          const auto memory = static_cast<DType>(dtype);
          expect_casts<Memory, Tile>(load_function(memory, type), store_function(type, memory));
        });
      });
}

TEST(NumericCast, OfFloatsToIntegersIsDefinedEverywhere) {
  EXPECT_EQ(numeric_cast<int32_t>(2.9), 2);
  EXPECT_EQ(numeric_cast<int32_t>(-2.9), -2);
  EXPECT_EQ(numeric_cast<int32_t>(3e9), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(numeric_cast<int32_t>(NAN), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(numeric_cast<uint32_t>(3e9), 3'000'000'000u);
  EXPECT_EQ(numeric_cast<uint8_t>(300.0f), 44);
  EXPECT_EQ(numeric_cast<uint8_t>(-1.0f), 255);
  EXPECT_EQ(numeric_cast<uint64_t>(1e19), 10'000'000'000'000'000'000u);
  EXPECT_EQ(numeric_cast<bool>(0.5), true);
  EXPECT_EQ(numeric_cast<bool>(NAN), true);
}

}  // namespace
}  // namespace headrace
