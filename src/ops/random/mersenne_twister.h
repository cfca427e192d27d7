// The generator mt19937 (Matsumoto and Nishimura, 1998): the words of std::mt19937 by the same seed, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace headrace {

// One stream of words; used by one thread at a time. Also a C++ UniformRandomBitGenerator.
class MersenneTwister {
 public:
  using result_type = uint32_t;
  static constexpr size_t kSize = 624;  // words of state

  explicit MersenneTwister(uint32_t seed) noexcept;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

  result_type operator()() noexcept {
    if (next_ == kSize) renew();
    uint32_t word = state_[next_++];
    word ^= word >> 11;
    word ^= (word << 7) & kTempering7;
    word ^= (word << 15) & kTempering15;
    return word ^ (word >> 18);
  }
  void discard(int64_t n) noexcept;
  // The next n words; the same as n calls.
  void fill(uint32_t* words, int64_t n) noexcept;

  static constexpr uint32_t kTempering7 = 0x9d2c5680, kTempering15 = 0xefc60000;

 private:
  static constexpr size_t kPadding = 16;  // kernels work on whole vectors

  void renew() noexcept;

  alignas(64) uint32_t state_[kSize + kPadding];
  size_t next_ = kSize;
};

}  // namespace headrace
