// Philox4x32-10 (Salmon et al., SC 2011): four random words from a 64-bit key and a 128-bit counter.
#pragma once

#include <array>
#include <cstdint>

namespace headrace {

struct Philox {
  static constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  static constexpr int kRounds = 10;

  static std::array<uint32_t, 4> block(uint64_t key, uint64_t low, uint64_t high) noexcept {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    std::array<uint32_t, 4> c = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
    for (int round = 0; round < kRounds; ++round, k0 += kWeyl0, k1 += kWeyl1) {
      uint64_t p0 = uint64_t{kMultiplier0} * c[0], p1 = uint64_t{kMultiplier1} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    }
    return c;
  }
};

// The words of one element: a stream of its own, so that algorithms may draw as many as they need.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t key, uint64_t element) noexcept : key_(key), element_(element) {}
  uint32_t operator()() noexcept {
    if (used_ == 4) {
      words_ = Philox::block(key_, element_, block_++);
      used_ = 0;
    }
    return words_[used_++];
  }

 private:
  uint64_t key_, element_, block_ = 1;  // block 0 belongs to bulk fills
  std::array<uint32_t, 4> words_{};
  size_t used_ = 4;
};

}  // namespace headrace
