#include "ndarray/layout_copies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "device/registry.h"
#include "headrace/ndarray.hpp"
#include "ndarray/view.h"

namespace headrace {
namespace {

StoragePtr make_storage() { return StoragePtr(new Storage(allocator_of(Device{}), Device{}, 64)); }

void* keep(LayoutCopies& copies, const void* from, const std::string& layout, char value) {
  return copies.keep(from, layout, 16, [&](void* to) { std::memset(to, value, 16); });
}

TEST(LayoutCopies, WhatIsAskedForTwiceIsWorthKeeping) {
  const StoragePtr storage = make_storage();
  LayoutCopies& copies = *storage->copies();
  EXPECT_FALSE(copies.find(nullptr, "a").is_worth_keeping);
  const LayoutCopies::Found again = copies.find(nullptr, "a");
  EXPECT_EQ(again.data, nullptr);
  EXPECT_TRUE(again.is_worth_keeping);
  void* const kept = keep(copies, nullptr, "a", 'x');
  EXPECT_EQ(copies.find(nullptr, "a").data, kept);
  EXPECT_EQ(*static_cast<char*>(kept), 'x');
}

TEST(LayoutCopies, PlacesAndLayoutsAreToldApart) {
  const StoragePtr storage = make_storage();
  LayoutCopies& copies = *storage->copies();
  char place = 0;
  copies.find(nullptr, "a");
  EXPECT_FALSE(copies.find(&place, "a").is_worth_keeping);
  EXPECT_TRUE(copies.find(nullptr, "a").is_worth_keeping);
}

TEST(LayoutCopies, TheNumberOfCopiesIsBounded) {
  const StoragePtr storage = make_storage();
  LayoutCopies& copies = *storage->copies();
  size_t worthwhile = 0;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 100; ++i) worthwhile += copies.find(nullptr, std::to_string(i)).is_worth_keeping;
  EXPECT_GT(worthwhile, 0u);
  EXPECT_LT(worthwhile, 10u);
}

TEST(LayoutCopies, AChangeOfTheContentsEndsThem) {
  const StoragePtr storage = make_storage();
  storage->copies()->find(nullptr, "a");
  storage->copies()->find(nullptr, "a");
  keep(*storage->copies(), nullptr, "a", 'x');
  storage->begin_write(false);
  const LayoutCopies::Found found = storage->copies()->find(nullptr, "a");
  EXPECT_EQ(found.data, nullptr);
  EXPECT_FALSE(found.is_worth_keeping);
}

TEST(LayoutCopies, MemoryThatOthersMayChangeHasNone) {
  const StoragePtr exposed = make_storage();
  exposed->expose();
  EXPECT_EQ(exposed->copies(), nullptr);
  char bytes[8];
  const StoragePtr borrowed(new Storage(Device{}, 8, bytes, nullptr, [](void*) {}));
  EXPECT_EQ(borrowed->copies(), nullptr);
  borrowed->begin_write(false);
}

TEST(LayoutCopies, ThreadsThatMakeTheSameCopyShareOne) {
  const StoragePtr storage = make_storage();
  storage->copies()->find(nullptr, "a");
  std::vector<void*> kept(8);
  std::vector<std::thread> threads;
  for (void*& mine : kept)
    threads.emplace_back([&] {
      LayoutCopies& copies = *storage->copies();
      const LayoutCopies::Found found = copies.find(nullptr, "a");
      mine = found.data ? found.data : keep(copies, nullptr, "a", 'x');
    });
  for (std::thread& thread : threads) thread.join();
  for (void* mine : kept) EXPECT_EQ(mine, kept[0]);
}

}  // namespace
}  // namespace headrace
