// What tests of vector code share: a choice of the instruction set, and values to feed it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <hwy/targets.h>
#include "../compute_types.h"
#include "op/formula/opcode.h"

namespace headrace::test {

// Makes Highway choose among `targets` while it lives.
class OnlyTargets {
 public:
  explicit OnlyTargets(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
  ~OnlyTargets() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

// Any bit pattern, and for floats half the time a value of ordinary size.
template <class T>
std::vector<T> values_of(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T& value : values) {
    const uint64_t word = random();
    std::memcpy(&value, &word, sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      if (random() % 2 == 0) value = static_cast<T>(std::ldexp(static_cast<double>(static_cast<int64_t>(word)), -62));
      if (random() % 4 == 0) value *= 50;
    } else {
      value >>= random() % (sizeof(T) * 8);
    }
  }
  return values;
}

}  // namespace headrace::test
