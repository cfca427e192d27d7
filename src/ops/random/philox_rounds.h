// The arithmetic of Philox4x32-10 (Salmon et al., SC 2011), for the host and for GPUs.
#pragma once

#include <cstdint>

namespace headrace {

struct PhiloxRounds {
  static constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  static constexpr int kRounds = 10;

  // Turns a counter, lowest word first, into four random words.
  static void run(uint64_t key, uint32_t (&words)[4]) noexcept {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round, k0 += kWeyl0, k1 += kWeyl1) {
      const uint64_t p0 = uint64_t{kMultiplier0} * words[0], p1 = uint64_t{kMultiplier1} * words[2];
      words[0] = static_cast<uint32_t>(p1 >> 32) ^ words[1] ^ k0;
      words[1] = static_cast<uint32_t>(p1);
      words[2] = static_cast<uint32_t>(p0 >> 32) ^ words[3] ^ k1;
      words[3] = static_cast<uint32_t>(p0);
    }
  }
};

}  // namespace headrace
