// Unsigned keys whose order is that of values, read by the compilers of host and device.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace headrace {

// A key with the position of its element; the order is by key, then by position.
template <class Key>
struct KeyAndPosition {
  Key position, key;
  friend bool operator<(const KeyAndPosition& a, const KeyAndPosition& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};

// Of floats and integers of 32 and 64 bits: NaN is the largest. `flip` turns the order round.
template <class T>
struct KeyOf {
  using Key = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  using Pair = KeyAndPosition<Key>;
  static constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);

  static Key encode(T value, Key flip) noexcept {
    Key bits = std::bit_cast<Key>(value);
    if constexpr (std::is_floating_point_v<T>) {
      if (value != value) return static_cast<Key>(~Key{0}) ^ flip;
      bits = bits & kSign ? ~bits : bits | kSign;
    } else if constexpr (std::is_signed_v<T>) {
      bits ^= kSign;
    }
    return bits ^ flip;
  }
  static T decode(Key key, Key flip) noexcept {
    key ^= flip;
    if constexpr (std::is_floating_point_v<T>) {
      key = key & kSign ? key ^ kSign : static_cast<Key>(~key);
    } else if constexpr (std::is_signed_v<T>) {
      key ^= kSign;
    }
    return std::bit_cast<T>(key);
  }
  // Zeros of both signs are equal here.
  static Pair pair(T value, Key flip, int64_t position) noexcept {
    return {static_cast<Key>(position), encode(value == T{0} ? T{0} : value, flip)};
  }
};

}  // namespace headrace
