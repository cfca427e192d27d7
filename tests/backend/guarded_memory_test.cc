#include "backend/cpu/guarded_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace headrace {
namespace {

TEST(GuardedMemory, BlocksOfAnySizeAreAlignedAndWhole) {
  for (size_t bytes : {1u, 63u, 64u, 65u, 4032u, 4033u, 4096u, 4097u, 100'000u}) {
    auto* block = static_cast<unsigned char*>(guarded_allocate(bytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    std::memset(block, 7, bytes);
    EXPECT_TRUE(std::all_of(block, block + bytes, [](unsigned char c) { return c == 7; }));
    guarded_release(block, bytes);
  }
}

TEST(GuardedMemory, MoreThanTheSystemHasIsNull) { EXPECT_EQ(guarded_allocate(size_t{1} << 60), nullptr); }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
using GuardedMemoryDeathTest = testing::Test;

TEST(GuardedMemoryDeathTest, AWriteBesideTheBlockIsFoundWhenItIsReleased) {
  for (int64_t at : {-1, 60, 63}) {
    EXPECT_DEATH(
        {
          auto* block = static_cast<unsigned char*>(guarded_allocate(60));
          block[at] = 0;
          guarded_release(block, 60);
        },
        "wrote at byte " + std::to_string(at) + " of a block of 60 bytes");
  }
}

TEST(GuardedMemoryDeathTest, ThePageBehindABlockAndReleasedBlocksCannotBeTouched) {
  auto* block = static_cast<unsigned char*>(guarded_allocate(128));
  EXPECT_DEATH(static_cast<volatile unsigned char*>(block)[128] = 0, "");
  guarded_release(block, 128);
  EXPECT_DEATH(static_cast<volatile unsigned char*>(block)[0] = 0, "");
}
#endif

}  // namespace
}  // namespace headrace
