#include "hardware/kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace headrace::hardware {
namespace {

TEST(Kernels, ReadAllSeesEveryWordWhereverItLies) {
  constexpr size_t kBytes = 1024;
  for (size_t offset : {0, 1, 13}) {
    std::vector<std::byte> bytes(kBytes + offset);
    EXPECT_EQ(read_all(bytes.data() + offset, kBytes), 0u);
    for (size_t i = 0; i < kBytes; i += sizeof(uint64_t)) {
      const uint64_t word = uint64_t{1} << 63 | i;
      std::memcpy(bytes.data() + offset + i, &word, sizeof word);
      const uint64_t sum = read_all(bytes.data() + offset, kBytes);
      EXPECT_EQ(sum, word) << i;
      const uint64_t zero = 0;
      std::memcpy(bytes.data() + offset + i, &zero, sizeof zero);
    }
  }
}

TEST(Kernels, AddVectorsCountsItsAdditions) {
  const int64_t once = add_vectors(1);
  EXPECT_GT(once, 0);
  EXPECT_EQ(once % 8, 0);
  EXPECT_EQ(add_vectors(10), 10 * once);
}

TEST(Kernels, MultiplyAddChainKeepsItsNumber) { EXPECT_EQ(multiply_add_chain(3.5f, 100), 3.5f); }

}  // namespace
}  // namespace headrace::hardware
