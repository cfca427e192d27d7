// The random words of philox on a GPU, as ops/random/philox.h has them.
#pragma once

#ifdef HEADRACE_DEVICE_CODE
#include "ops/random/philox_rounds.h"

namespace headrace::device {

struct Words {
  uint32_t values[4];
};

inline Words words_of(uint64_t key, int64_t element, int64_t block) {
  const auto low = static_cast<uint64_t>(element), high = static_cast<uint64_t>(block);
  Words words = {{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                  static_cast<uint32_t>(high >> 32)}};
  PhiloxRounds::run(key, words.values);
  return words;
}

// Those of one element, the first `skipped` left out. Block 0 belongs to bulk fills.
class WordStream {
 public:
  WordStream(uint64_t key, int64_t element, int64_t skipped = 0)
      : key_(key), element_(element), block_(1 + skipped / 4) {
    for (int64_t k = 0; k < skipped % 4; ++k) (*this)();
  }

  // Words move to the front, so that they stay in registers.
  uint32_t operator()() {
    if (left_ == 0) {
      words_ = words_of(key_, element_, block_++);
      left_ = 4;
    }
    --left_;
    const uint32_t word = words_.values[0];
    words_.values[0] = words_.values[1];
    words_.values[1] = words_.values[2];
    words_.values[2] = words_.values[3];
    return word;
  }

 private:
  uint64_t key_;
  int64_t element_, block_;
  Words words_;
  int left_ = 0;
};

}  // namespace headrace::device
#endif
