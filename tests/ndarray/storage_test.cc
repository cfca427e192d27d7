#include "ndarray/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device/registry.h"
#include "engine/runtime.h"
#include "ndarray/storage_extras.h"

namespace headrace {
namespace {

constexpr size_t kBytes = Storage::kLeastSharedBytes;

StoragePtr storage_of(const std::string& text, size_t bytes = kBytes) {
  StoragePtr storage(new Storage(allocator_of(Device{}), Device{}, bytes));
  std::memset(storage->data(), 0, bytes);
  std::memcpy(storage->data(), text.data(), text.size());
  return storage;
}

std::string text_of(const StoragePtr& storage) { return static_cast<const char*>(storage->data()); }

void write(const StoragePtr& storage, const std::string& text) {
  storage->begin_write(true);
  std::memcpy(storage->data(), text.c_str(), text.size() + 1);
}

TEST(Storage, SharesMemoryUntilTheBorrowerIsWritten) {
  const StoragePtr source = storage_of("source"), borrower = storage_of("old");
  ASSERT_TRUE(borrower->share(*source));
  EXPECT_EQ(borrower->data(), source->data());
  EXPECT_EQ(text_of(borrower), "source");
  write(borrower, "new");
  EXPECT_EQ(text_of(borrower), "new");
  EXPECT_EQ(text_of(source), "source");
}

int64_t live_bytes() { return static_cast<int64_t>(allocator_of(Device{}).stats().live); }

StoragePtr zeros() {
  StoragePtr storage(new Storage(allocator_of(Device{}), Device{}, kBytes));
  storage->begin_as_zeros();
  return storage;
}

TEST(Storage, ZerosTakeNoMemoryBeforeTheyAreRead) {
  runtime().engine.wait_all();
  storage_of(std::string(kBytes, 'x'));  // what the pool has then
  const int64_t before = live_bytes();
  const StoragePtr storage = zeros();
  EXPECT_EQ(live_bytes(), before);
  EXPECT_EQ(std::string(static_cast<const char*>(storage->data()), kBytes), std::string(kBytes, '\0'));
  EXPECT_GT(live_bytes(), before);
}

TEST(Storage, ZerosAreReadByManyAtOnceAndLent) {
  storage_of(std::string(kBytes, 'x'));
  const StoragePtr storage = zeros(), borrower = storage_of("old");
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back(
        [&] { EXPECT_EQ(std::string(static_cast<const char*>(storage->data()), kBytes), std::string(kBytes, '\0')); });
  readers.clear();
  const StoragePtr unread = zeros();
  ASSERT_TRUE(borrower->share(*unread));
  EXPECT_EQ(text_of(borrower), "");
  write(unread, "new");
  EXPECT_EQ(text_of(borrower), "");
  EXPECT_EQ(text_of(unread), "new");
}

TEST(Storage, SharesMemoryUntilTheLenderIsWritten) {
  const StoragePtr source = storage_of("source"), borrower = storage_of("old");
  ASSERT_TRUE(borrower->share(*source));
  write(source, "new");
  EXPECT_EQ(text_of(source), "new");
  EXPECT_EQ(text_of(borrower), "source");
}

TEST(Storage, WhatIsWrittenInPartKeepsTheRest) {
  const StoragePtr source = storage_of("source"), borrower = storage_of("old");
  ASSERT_TRUE(borrower->share(*source));
  borrower->begin_write(false);
  *static_cast<char*>(borrower->data()) = 'S';
  EXPECT_EQ(text_of(borrower), "Source");
  EXPECT_EQ(text_of(source), "source");
}

TEST(Storage, TheLastOneKeepsTheMemory) {
  const StoragePtr source = storage_of("source"), second = storage_of("old"), third = storage_of("old");
  void* const memory = source->data();
  ASSERT_TRUE(second->share(*source));
  ASSERT_TRUE(third->share(*second));
  EXPECT_EQ(third->data(), memory);
  write(source, "first");
  write(third, "third");
  second->begin_write(false);
  EXPECT_EQ(second->data(), memory);
  EXPECT_EQ(text_of(second), "source");
  EXPECT_FALSE(second->has_extras());
}

TEST(Storage, SharedMemoryOutlivesItsLender) {
  StoragePtr source = storage_of("source");
  const StoragePtr borrower = storage_of("old");
  ASSERT_TRUE(borrower->share(*source));
  source = nullptr;
  EXPECT_EQ(text_of(borrower), "source");
}

TEST(Storage, SharingCountsMemoryOnce) {
  const size_t bytes = size_t{8} << 20;
  const auto live = [] { return allocator_of(Device{}).stats().live; };
  const StoragePtr source = storage_of("source", bytes);
  const int64_t before = live();
  const StoragePtr borrower = storage_of("old", bytes);
  EXPECT_GE(live() - before, static_cast<int64_t>(bytes));
  ASSERT_TRUE(borrower->share(*source));
  EXPECT_LT(live() - before, static_cast<int64_t>(bytes));
}

TEST(Storage, MemoryThatOthersSeeIsNotShared) {
  const StoragePtr source = storage_of("source"), other_size = storage_of("old", 2 * kBytes);
  EXPECT_FALSE(source->share(*source));
  EXPECT_FALSE(other_size->share(*source));
  const StoragePtr small = storage_of("small", 64);
  EXPECT_FALSE(small->share(*storage_of("other", 64)));
  std::vector<char> bytes(kBytes);
  const StoragePtr borrowed(new Storage(Device{}, kBytes, bytes.data(), nullptr, [](void*) {}));
  EXPECT_FALSE(borrowed->share(*source));
  EXPECT_FALSE(source->share(*borrowed));
  const StoragePtr exposed = storage_of("exposed");
  exposed->expose();
  EXPECT_FALSE(exposed->share(*source));
  EXPECT_FALSE(source->share(*exposed));
  EXPECT_EQ(text_of(exposed), "exposed");
}

TEST(Storage, WhatIsExposedGetsMemoryOfItsOwn) {
  const StoragePtr source = storage_of("source"), borrower = storage_of("old");
  ASSERT_TRUE(borrower->share(*source));
  borrower->expose();
  runtime().engine.wait_all();
  *static_cast<char*>(borrower->data()) = 'S';
  EXPECT_EQ(text_of(borrower), "Source");
  EXPECT_EQ(text_of(source), "source");
}

TEST(Storage, LayoutCopiesStayWithTheLenderAndLeaveTheBorrower) {
  const StoragePtr source = storage_of("source"), borrower = storage_of("old");
  const auto keep = [](const StoragePtr& storage) {
    storage->copies()->keep(nullptr, "a", 1, [](void* to) { *static_cast<char*>(to) = 'x'; });
  };
  keep(source);
  keep(borrower);
  ASSERT_TRUE(borrower->share(*source));
  EXPECT_NE(source->copies()->find(nullptr, "a").data, nullptr);
  EXPECT_EQ(borrower->copies()->find(nullptr, "a").data, nullptr);
}

}  // namespace
}  // namespace headrace
