// Philox: four random words from a 64-bit key and a 128-bit counter.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/random/philox_rounds.h"

namespace headrace {

struct Philox : PhiloxRounds {
  static std::array<uint32_t, 4> block(uint64_t key, uint64_t low, uint64_t high) noexcept {
    uint32_t words[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                         static_cast<uint32_t>(high >> 32)};
    run(key, words);
    return {words[0], words[1], words[2], words[3]};
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
