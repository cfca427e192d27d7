// Philox4x32-10 (Salmon et al., SC 2011): four random words from a 64-bit key and a 128-bit counter.
#pragma once

#include <algorithm>
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
  static constexpr uint64_t kFirstBlock = 1;  // block 0 belongs to bulk fills

  PhiloxStream(uint64_t key, uint64_t element) noexcept : key_(key), element_(element) {}
  // The same, given the words of its first `blocks` blocks: those of one stand `stride` words behind those of the one
  // before, and outlive the stream.
  PhiloxStream(uint64_t key, uint64_t element, const uint32_t* words, size_t blocks, size_t stride) noexcept
      : key_(key), element_(element), given_(words), given_blocks_(blocks), stride_(stride) {}

  uint32_t operator()() noexcept {
    if (used_ == 4) next_block();
    return words_[used_++];
  }

 private:
  void next_block() noexcept {
    if (given_blocks_ > 0) {
      std::copy_n(given_, 4, words_.begin());
      given_ += stride_;
      --given_blocks_;
    } else {
      words_ = Philox::block(key_, element_, block_);
    }
    ++block_;
    used_ = 0;
  }

  uint64_t key_, element_, block_ = kFirstBlock;
  const uint32_t* given_ = nullptr;
  size_t given_blocks_ = 0, stride_ = 0;
  std::array<uint32_t, 4> words_{};
  size_t used_ = 4;
};

}  // namespace headrace
