// What ranks make of each other's accelerators.
#include "collective/gang_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "collective/agreement.h"

namespace headrace::collective {
namespace {

using testing::HasSubstr;
using State = GangAgreement::State;
using Way = Decision::Way;

TEST(GangAgreement, AllMeetWhereRankZeroSays) {
  GangAgreement gang(2);
  gang.hear_offer(1, "b", "", {});
  EXPECT_EQ(gang.state(), State::kOpen);
  gang.hear_offer(0, "a", "there", {});
  EXPECT_EQ(gang.state(), State::kConnecting);
  EXPECT_EQ(gang.meeting_point(), "there");
  gang.hear_connection(0, {});
  EXPECT_EQ(gang.state(), State::kConnecting);
  gang.hear_connection(1, {});
  EXPECT_EQ(gang.state(), State::kConnected);
}

TEST(GangAgreement, OneRankIsEnoughToRefuse) {
  GangAgreement lacking(3), unwanted(3), failed(2);
  lacking.hear_offer(2, "", "", "there is no library");
  EXPECT_EQ(lacking.why_refused(), "rank 2: there is no library");
  lacking.hear_offer(0, "a", "there", {});
  lacking.hear_offer(1, "", "", "another reason");
  EXPECT_EQ(lacking.state(), State::kRefused);
  EXPECT_EQ(lacking.why_refused(), "rank 2: there is no library");
  unwanted.hear_offer(0, "", "", "");
  EXPECT_EQ(unwanted.state(), State::kRefused);
  EXPECT_EQ(unwanted.why_refused(), "");
  failed.hear_offer(0, "a", "there", {});
  failed.hear_offer(1, "b", "", {});
  failed.hear_connection(1, {});
  failed.hear_connection(0, "no way");
  EXPECT_EQ(failed.state(), State::kRefused);
  EXPECT_EQ(failed.why_refused(), "rank 0: no way");
}

TEST(GangAgreement, RanksHaveDifferentDevices) {
  GangAgreement gang(3);
  gang.hear_offer(0, "a", "there", {});
  gang.hear_offer(2, "b", "", {});
  gang.hear_offer(1, "b", "", {});
  EXPECT_EQ(gang.state(), State::kRefused);
  EXPECT_THAT(gang.why_refused(), HasSubstr("rank 1: it has the same GPU as rank 2"));
}

// Two ranks that hear the same.
class Pair {
 public:
  void tell(int rank, Event event) { events_[static_cast<size_t>(rank)].push_back(std::move(event)); }
  void announce(int rank) { tell(rank, {.what = Event::What::kAnnounced, .name = "w", .call = "sum"}); }
  void ready(int rank, bool by_gang, uint64_t place = 0) {
    tell(rank, {.what = Event::What::kReady, .name = "w", .place = place, .by_gang = by_gang});
  }
  void offer(int rank) {
    tell(rank, {.what = Event::What::kOffered, .name = std::to_string(rank), .call = rank == 0 ? "there" : ""});
  }
  // Both have an accelerator and make a call, whose values are there or, by rank, in the memory of the host.
  void call(std::array<bool, 2> by_gang) {
    for (int rank = 0; rank < 2; ++rank) {
      offer(rank);
      announce(rank);
      ready(rank, by_gang[static_cast<size_t>(rank)]);
    }
  }
  void connect() {
    for (int rank = 0; rank < 2; ++rank) tell(rank, {.what = Event::What::kConnected});
  }
  // How the calls of each rank go on that are decided.
  std::vector<std::vector<Way>> cycle() {
    std::vector<std::vector<Way>> ways(2);
    std::vector<std::vector<std::byte>> blocks;
    for (size_t rank = 0; rank < 2; ++rank) blocks.push_back(ranks_[rank].block_of(events_[rank]));
    for (size_t of = 0; of < 2; ++of) {
      for (size_t rank = 0; rank < 2; ++rank) ranks_[of].hear(static_cast<int>(rank), blocks[rank]);
      for (const Decision& one : ranks_[of].decide()) ways[of].push_back(one.way);
    }
    for (auto& events : events_) events.clear();
    return ways;
  }
  const Agreement& rank(size_t rank) const { return ranks_[rank]; }

 private:
  std::vector<Agreement> ranks_{Agreement(0, 2), Agreement(1, 2)};
  std::vector<std::vector<Event>> events_{2};
};

using Ways = std::vector<std::vector<Way>>;

TEST(GangAgreement, CallsWaitUntilAllAreConnected) {
  Pair pair;
  pair.call({true, true});
  EXPECT_EQ(pair.cycle(), (Ways{{}, {}}));
  EXPECT_EQ(pair.cycle(), (Ways{{}, {}}));
  EXPECT_TRUE(pair.rank(0).awaits_values());  // nobody takes it for a stall
  pair.connect();
  EXPECT_EQ(pair.cycle(), (Ways{{Way::kGang}, {Way::kGang}}));
}

TEST(GangAgreement, CallsGoByTheHostWhereOneRankHasItsValuesThere) {
  Pair pair;
  pair.call({false, true});
  EXPECT_EQ(pair.cycle(), (Ways{{}, {Way::kToHost}}));
  EXPECT_EQ(pair.cycle(), (Ways{{}, {}}));
  pair.ready(1, false);
  EXPECT_EQ(pair.cycle(), (Ways{{Way::kHost}, {Way::kHost}}));
  pair.connect();
  for (int rank = 0; rank < 2; ++rank) {
    pair.announce(rank);
    pair.ready(rank, true, 1);
  }
  EXPECT_EQ(pair.cycle(), (Ways{{Way::kGang}, {Way::kGang}}));
}

TEST(GangAgreement, CallsThatHaveWaitedGoByTheHostWhenItIsRefused) {
  Pair pair;
  pair.call({true, true});
  pair.cycle();
  pair.tell(1, {.what = Event::What::kConnected, .failure = CallFailure{.text = "no way"}});
  EXPECT_EQ(pair.cycle(), (Ways{{Way::kToHost}, {Way::kToHost}}));
  for (int rank = 0; rank < 2; ++rank) pair.ready(rank, false);
  EXPECT_EQ(pair.cycle(), (Ways{{Way::kHost}, {Way::kHost}}));
}

TEST(GangAgreement, WhatBreaksOneBreaksAll) {
  Pair pair;
  pair.announce(0);
  pair.tell(1, {.what = Event::What::kBroken, .failure = CallFailure{.text = "its GPU is lost"}});
  pair.cycle();
  for (size_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(pair.rank(rank).broken());
    EXPECT_TRUE(pair.rank(rank).is_gang_broken());
    EXPECT_EQ(pair.rank(rank).broken()->text, "distributed: rank 1: its GPU is lost");
  }
}

}  // namespace
}  // namespace headrace::collective
