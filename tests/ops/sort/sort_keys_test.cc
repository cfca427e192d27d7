#include "ops/sort/sort_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace headrace {
namespace {

template <class T>
void check_order(std::vector<T> values) {
  using K = KeyOf<T>;
  const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
  std::sort(values.begin(), values.end(), less);
  for (typename K::Key flip : {typename K::Key{0}, static_cast<typename K::Key>(~typename K::Key{0})}) {
    for (size_t i = 0; i < values.size(); ++i) {
      const T back = K::decode(K::encode(values[i], flip), flip);
      EXPECT_TRUE(back == values[i] || (back != back && values[i] != values[i]));
      if (i == 0 || !less(values[i - 1], values[i])) continue;
      const bool rises = K::encode(values[i - 1], flip) < K::encode(values[i], flip);
      EXPECT_EQ(rises, flip == 0);
    }
  }
}

TEST(SortKeys, HaveTheOrderOfTheValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kQuietNan = std::numeric_limits<float>::quiet_NaN();
  check_order<float>({0, -1, 1, 1e-40f, -1e-40f, 3e38f, -3e38f, kInfinity, -kInfinity, kQuietNan});
  check_order<double>({0, -1, 1, 1e-310, -1e-310, 1e308, -1e308, kQuietNan});
  check_order<int32_t>({0, -1, 1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
  check_order<int64_t>({0, -1, 1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
}

template <class Key>
void check_sorts(std::vector<Key> keys) {
  std::vector<Key> expected = keys;
  std::sort(expected.begin(), expected.end());
  sort_ascending(keys.data(), static_cast<int64_t>(keys.size()));
  EXPECT_EQ(keys, expected) << keys.size();
}

template <class Key>
void check_sorts_all() {
  std::mt19937_64 random(1);
  for (size_t n : {0, 1, 2, 16, 17, 95, 97, 5000, 32767, 32769, 131073, 300000}) {
    std::vector<Key> keys(n);
    for (uint64_t different : {1, 2, 3, 100, 0}) {  // 0: as many as there are
      for (Key& key : keys) key = static_cast<Key>(different == 0 ? random() : random() % different);
      check_sorts(keys);
    }
    for (size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(i);
    check_sorts(keys);
    for (size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(n - i);
    check_sorts(keys);
  }
}

TEST(SortKeys, SortsEveryLength) {
  check_sorts_all<uint32_t>();
  check_sorts_all<uint64_t>();
}

template <class Key>
void check_pairs() {
  std::mt19937 random(2);
  for (int64_t n : {5, 50, 5000, 200000}) {
    std::vector<KeyAndPosition<Key>> pairs;
    for (int64_t i = 0; i < n; ++i) pairs.push_back({static_cast<Key>(i), static_cast<Key>(random() % 10)});
    sort_ascending(pairs.data(), n);
    EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end())) << n;
  }
}

TEST(SortKeys, EqualKeysKeepTheirOrder) {
  check_pairs<uint32_t>();
  check_pairs<uint64_t>();
}

}  // namespace
}  // namespace headrace
