// What libFuzzer takes from us: every second change of an input is one of ours, which knows numbers in texts, brackets
// and limits. The seeds have to be in its corpus: the programs of driver.cc write them.
#include <algorithm>
#include <cstring>

#include "tests/attack/fuzz/fuzz.h"
#include "tests/attack/fuzz/mutate.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  using namespace headrace::fuzz;
  static const std::vector<std::string> corpus = seeds();
  std::mt19937_64 random(seed);
  if (random() % 2) return LLVMFuzzerMutate(data, size, most);
  const std::string changed = mutated(std::string(text_of(data, size)), corpus, random);
  const size_t length = std::min(changed.size(), most);
  std::memcpy(data, changed.data(), length);
  return length;
}
