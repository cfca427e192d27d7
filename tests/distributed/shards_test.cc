#include "distributed/shards.h"

#include <gtest/gtest.h>

#include <set>

namespace headrace::distributed {
namespace {

TEST(Shards, SmallArraysLieOnOneServer) {
  std::set<size_t> servers;
  for (int64_t key = 0; key < 100; ++key) {
    const std::vector<Shard> shards = shards_of(kvstore::Key(key), 999, 4, 1000, true);
    ASSERT_EQ(shards.size(), 1u);
    EXPECT_EQ(shards[0].begin, 0);
    EXPECT_EQ(shards[0].end, 999);
    servers.insert(shards[0].owner);
  }
  EXPECT_EQ(servers.size(), 4u);  // keys are spread
}

TEST(Shards, AKeyHasOneServerWhateverItsType) {
  EXPECT_EQ(shards_of(kvstore::Key(int64_t{7}), 1, 5, 10, true)[0].owner,
            shards_of(kvstore::Key("7"), 1, 5, 10, true)[0].owner);
  EXPECT_EQ(shards_of(kvstore::Key("weight"), 1, 3, 10, true)[0].owner,
            shards_of(kvstore::Key("weight"), 9, 3, 10, true)[0].owner);
}

TEST(Shards, LargeArraysLieOnAll) {
  for (const int64_t elements : {1000, 1001, 12345, 1 << 20})
    for (const size_t servers : {2u, 3u, 7u}) {
      const std::vector<Shard> shards = shards_of(kvstore::Key("w"), elements, servers, 1000, true);
      ASSERT_EQ(shards.size(), servers);
      int64_t at = 0;
      for (size_t i = 0; i < servers; ++i) {
        EXPECT_EQ(shards[i].owner, i);
        EXPECT_EQ(shards[i].begin, at);
        EXPECT_EQ(shards[i].begin % 16, 0);
        EXPECT_NEAR(static_cast<double>(shards[i].end - at), static_cast<double>(elements) / servers, 32 * servers);
        at = shards[i].end;
      }
      EXPECT_EQ(at, elements);
    }
}

TEST(Shards, StayWholeWhereTheyHaveTo) {
  EXPECT_EQ(shards_of(kvstore::Key("w"), 1 << 20, 4, 1000, false).size(), 1u);
  EXPECT_EQ(shards_of(kvstore::Key("w"), 1 << 20, 1, 1000, true).size(), 1u);
  EXPECT_EQ(shards_of(kvstore::Key("w"), 20, 4, 10, true).size(), 1u);  // too few to share out
  EXPECT_EQ(shards_of(kvstore::Key("w"), 0, 4, 1, true)[0].end, 0);
}

}  // namespace
}  // namespace headrace::distributed
