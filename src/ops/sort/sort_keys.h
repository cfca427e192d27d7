// Sorting by unsigned keys whose order is that of the values. Any thread; large inputs are sorted on idle cores too. The
// results are unique, so they do not depend on the number of threads.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace headrace {

// A key with the position of its element: equal keys are ordered by position, so sorting is stable.
struct KeyAndPosition64 {
  uint64_t position, key;  // as the two halves of one 128-bit number
  friend bool operator<(const KeyAndPosition64& a, const KeyAndPosition64& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};
using KeyAndPosition32 = uint64_t;  // key in the upper half

void sort_ascending(uint32_t* keys, int64_t n);
void sort_ascending(uint64_t* keys, int64_t n);
void sort_ascending(KeyAndPosition64* keys, int64_t n);

// float, double, int32_t, int64_t: NaN is the largest value. `flip` turns the order round.
template <class T>
struct KeyOf {
  using Key = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  using Pair = std::conditional_t<sizeof(T) == 4, KeyAndPosition32, KeyAndPosition64>;
  static constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);

  static Key encode(T value, Key flip) noexcept {
    Key bits = std::bit_cast<Key>(value);
    if constexpr (std::is_floating_point_v<T>) {
      if (value != value) return static_cast<Key>(~Key{0}) ^ flip;
      bits = bits & kSign ? ~bits : bits | kSign;
    } else {
      bits ^= kSign;
    }
    return bits ^ flip;
  }
  static T decode(Key key, Key flip) noexcept {
    key ^= flip;
    if constexpr (std::is_floating_point_v<T>) {
      key = key & kSign ? key ^ kSign : static_cast<Key>(~key);
    } else {
      key ^= kSign;
    }
    return std::bit_cast<T>(key);
  }
  // Zeros of both signs are equal here.
  static Pair pair(T value, Key flip, int64_t position) noexcept {
    const Key key = encode(value == T{0} ? T{0} : value, flip);
    if constexpr (sizeof(T) == 4) return (uint64_t{key} << 32) | static_cast<uint32_t>(position);
    else return {static_cast<uint64_t>(position), key};
  }
  static int64_t position(const Pair& pair) noexcept {
    if constexpr (sizeof(T) == 4) return static_cast<int64_t>(static_cast<uint32_t>(pair));
    else return static_cast<int64_t>(pair.position);
  }
};

}  // namespace headrace
