#include "ops/sort/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <hwy/targets.h>
#include "../../op/simd/kernel_testing.h"

namespace headrace {
namespace {

template <class Key>
void check_split() {
  std::mt19937_64 random(3);
  for (size_t n : {0, 1, 7, 16, 33, 1000}) {
    std::vector<Key> from(n), to(n + 1, 77);
    for (Key& key : from) key = static_cast<Key>(random() % 100);
    for (Key pivot : {0, 1, 50, 99, 100}) {
      const auto lesser = split(from.data(), to.data(), static_cast<int64_t>(n), pivot);
      ASSERT_EQ(lesser, std::ranges::count_if(from, [=](Key key) { return key < pivot; }));
      EXPECT_TRUE(std::all_of(to.begin(), to.begin() + lesser, [=](Key key) { return key < pivot; }));
      EXPECT_TRUE(std::is_permutation(from.begin(), from.end(), to.begin()));
      EXPECT_EQ(to[n], Key{77});
    }
  }
}

TEST(Split, PutsLesserKeysFirstOnEveryTarget) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const test::OnlyTargets only(targets & -targets);
    check_split<uint32_t>();
    check_split<uint64_t>();
  }
}

}  // namespace
}  // namespace headrace
