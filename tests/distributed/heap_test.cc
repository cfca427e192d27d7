#include "distributed/heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace headrace::distributed {
namespace {

TEST(Heaps, AreSeenByOthers) {
  const std::shared_ptr<OwnHeap> own = OwnHeap::make();
  ASSERT_NE(own, nullptr);
  const std::shared_ptr<const SeenHeap> seen = SeenHeap::find(own->description());
  ASSERT_NE(seen, nullptr);
  const BlockPtr block = own->take(100'000);
  std::memset(block->data(), 7, 100'000);
  const char* const there = seen->at(block->place(), 100'000);
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(std::memcmp(there, block->data(), 100'000), 0);
}

TEST(Heaps, ReachNoFurtherThanTheyAre) {
  const std::shared_ptr<OwnHeap> own = OwnHeap::make();
  const Heap description = own->description();
  const std::shared_ptr<const SeenHeap> seen = SeenHeap::find(description);
  EXPECT_NE(seen->at(description.size(), 0), nullptr);
  EXPECT_EQ(seen->at(description.size(), 1), nullptr);
  EXPECT_EQ(seen->at(1, description.size()), nullptr);
  EXPECT_EQ(seen->at(UINT64_MAX, 2), nullptr);
  EXPECT_EQ(own->take(description.size()), nullptr);
}

TEST(Heaps, UseBlocksAgain) {
  const std::shared_ptr<OwnHeap> own = OwnHeap::make();
  BlockPtr first = own->take(50'000);
  const BlockPtr second = own->take(50'000);
  EXPECT_NE(first->place(), second->place());
  const uint64_t place = first->place();
  first.reset();
  EXPECT_EQ(own->take(50'001)->place(), place);
}

TEST(Heaps, OfOtherDescriptionsAreNotFound) {
  const std::shared_ptr<OwnHeap> own = OwnHeap::make();
  const auto is_found = [&](auto change) {
    Heap description = own->description();
    change(description);
    return SeenHeap::find(description) != nullptr;
  };
  EXPECT_TRUE(is_found([](Heap&) {}));
  EXPECT_FALSE(is_found([](Heap& one) { (*one.mutable_mark())[3] ^= 1; }));
  EXPECT_FALSE(is_found([](Heap& one) { one.clear_mark(); }));
  EXPECT_FALSE(is_found([](Heap& one) { one.set_process(0); }));
  EXPECT_FALSE(is_found([](Heap& one) { one.set_process(1 << 30); }));
  EXPECT_FALSE(is_found([](Heap& one) { one.set_size(one.size() + 4096); }));
  EXPECT_FALSE(is_found([](Heap& one) { one.set_size(0); }));
  EXPECT_FALSE(is_found([](Heap& one) { one.set_file(1 << 20); }));
}

// A file that its owner could cut would end whoever reads beyond.
TEST(Heaps, MustNotShrink) {
  const int file = memfd_create("open", 0);
  ASSERT_EQ(ftruncate(file, 8192), 0);
  Heap description = OwnHeap::make()->description();
  ASSERT_EQ(pwrite(file, description.mark().data(), description.mark().size(), 0), 32);
  description.set_file(file);
  description.set_size(8192);
  EXPECT_EQ(SeenHeap::find(description), nullptr);
  close(file);
}

}  // namespace
}  // namespace headrace::distributed
