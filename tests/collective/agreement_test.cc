#include "collective/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headrace::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using What = Event::What;

// What several ranks know of each other.
class Ranks {
 public:
  explicit Ranks(int size) {
    for (int rank = 0; rank < size; ++rank) ranks_.emplace_back(rank, size);
    events_.resize(ranks_.size());
    made_.resize(ranks_.size());
  }

  void announce(int rank, const std::string& name, const std::string& call) {
    events_[at(rank)].push_back({.what = What::kAnnounced, .name = name, .call = call});
    ++made_[at(rank)][name];
  }
  // The newest call of that name, unless another one is given.
  void ready(int rank, const std::string& name, int urgency = 0, std::optional<CallFailure> failure = {}) {
    ready_at(rank, name, made_[at(rank)][name] - 1, urgency, std::move(failure));
  }
  void ready_at(int rank, const std::string& name, uint64_t place, int urgency = 0,
                std::optional<CallFailure> failure = {}) {
    events_[at(rank)].push_back(
        {.what = What::kReady, .name = name, .place = place, .urgency = urgency, .failure = std::move(failure)});
  }
  void call(int rank, const std::string& name, const std::string& what, int urgency = 0) {
    announce(rank, name, what);
    ready(rank, name, urgency);
  }
  void tell(int rank, Event event) { events_[at(rank)].push_back(std::move(event)); }

  // All ranks hear of all events, and conclude the same.
  std::vector<Decision> cycle() {
    std::vector<std::vector<std::byte>> blocks;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) blocks.push_back(ranks_[rank].block_of(events_[rank]));
    std::vector<std::vector<Decision>> all;
    for (Agreement& one : ranks_) {
      for (size_t rank = 0; rank < blocks.size(); ++rank) one.hear(static_cast<int>(rank), blocks[rank]);
      all.push_back(one.decide());
      EXPECT_EQ(names_of(all.back()), names_of(all[0]));
      EXPECT_EQ(one.broken().has_value(), ranks_[0].broken().has_value());
      if (one.broken()) {
        EXPECT_EQ(one.broken()->text, ranks_[0].broken()->text);
      }
    }
    for (auto& events : events_) events.clear();
    return all[0];
  }

  const Agreement& first() const { return ranks_[0]; }
  std::string why_broken() const { return first().broken() ? first().broken()->text : ""; }

  static std::vector<std::string> names_of(const std::vector<Decision>& decisions) {
    std::vector<std::string> names;
    for (const Decision& one : decisions) names.push_back(one.name);
    return names;
  }

 private:
  static size_t at(int rank) { return static_cast<size_t>(rank); }

  std::vector<Agreement> ranks_;
  std::vector<std::vector<Event>> events_;
  std::vector<std::map<std::string, uint64_t>> made_;
};

TEST(Agreement, WhatAllAreReadyForGoesOut) {
  Ranks ranks(3);
  for (int rank = 0; rank < 3; ++rank) ranks.announce(rank, "a", "sum a");
  ranks.ready(0, "a");
  ranks.ready(2, "a");
  EXPECT_TRUE(ranks.cycle().empty());
  EXPECT_TRUE(ranks.first().awaits_values());
  ranks.ready(1, "a");
  const std::vector<Decision> decisions = ranks.cycle();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].call, "sum a");
  EXPECT_FALSE(decisions[0].failure);
  EXPECT_FALSE(ranks.first().awaits_values());
  EXPECT_TRUE(ranks.cycle().empty());
  EXPECT_FALSE(ranks.first().has_news());
}

TEST(Agreement, NamesComeInAnyOrder) {
  Ranks ranks(2);
  for (const char* name : {"a", "b", "c"}) ranks.call(0, name, name);
  for (const char* name : {"c", "a", "b"}) ranks.call(1, name, name);
  EXPECT_THAT(Ranks::names_of(ranks.cycle()), ElementsAre("a", "b", "c"));
}

TEST(Agreement, TheMostUrgentGoFirst) {
  Ranks ranks(2);
  ranks.call(0, "a", "a", 1);
  ranks.call(0, "b", "b", 2);
  ranks.call(1, "b", "b", 0);
  ranks.call(1, "a", "a", 3);
  EXPECT_THAT(Ranks::names_of(ranks.cycle()), ElementsAre("a", "b"));
}

TEST(Agreement, CallsOfANameKeepTheirOrder) {
  Ranks ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    ranks.announce(rank, "", "first");
    ranks.announce(rank, "", "second");
    ranks.ready_at(rank, "", 1);
  }
  EXPECT_TRUE(ranks.cycle().empty());
  ranks.ready_at(0, "", 0);
  ranks.ready_at(1, "", 0);
  const std::vector<Decision> decisions = ranks.cycle();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].call, "first");
  EXPECT_EQ(decisions[1].call, "second");
}

TEST(Agreement, ARankMayBeAhead) {
  Ranks ranks(2);
  ranks.call(0, "a", "a");
  ranks.call(0, "a", "a");
  EXPECT_TRUE(ranks.cycle().empty());
  ranks.call(1, "a", "a");
  EXPECT_EQ(ranks.cycle().size(), 1U);
  ranks.call(1, "a", "a");
  EXPECT_EQ(ranks.cycle().size(), 1U);
}

TEST(Agreement, AFailureIsEverybodys) {
  Ranks ranks(2);
  ranks.call(0, "a", "sum a");
  ranks.announce(1, "a", "sum a");
  ranks.ready(1, "a", 0, CallFailure{ErrorKind::kIndex, "there is no row 9"});
  const std::vector<Decision> decisions = ranks.cycle();
  ASSERT_TRUE(decisions.size() == 1 && decisions[0].failure);
  EXPECT_EQ(decisions[0].failure->kind, ErrorKind::kIndex);
  EXPECT_EQ(decisions[0].failure->text, "sum a: on rank 1: there is no row 9");
  ranks.call(0, "a", "sum a");
  ranks.call(1, "a", "sum a");
  EXPECT_FALSE(ranks.cycle().at(0).failure);
}

TEST(Agreement, DifferentCallsAreNamed) {
  Ranks ranks(3);
  ranks.call(2, "a", "sum of (2,)");
  EXPECT_TRUE(ranks.cycle().empty());
  ranks.call(1, "a", "sum of (3,)");
  EXPECT_TRUE(ranks.cycle().empty());
  EXPECT_THAT(ranks.why_broken(), HasSubstr("rank 1 calls sum of (3,), but rank 2 calls sum of (2,)"));
}

TEST(Agreement, WhoWaitsForARankThatHasEndedIsTold) {
  Ranks ranks(2);
  ranks.call(1, "a", "sum a");
  ranks.call(0, "b", "sum b");
  ranks.call(1, "b", "sum b");
  ranks.tell(0, {.what = What::kEnded});
  EXPECT_THAT(Ranks::names_of(ranks.cycle()), testing::IsSubsetOf({"b"}));  // what it has called still counts
  EXPECT_THAT(ranks.why_broken(), HasSubstr("rank 0 has ended, but rank 1 calls sum a"));
  Ranks others(2);
  others.tell(1, {.what = What::kEnded, .failure = CallFailure{ErrorKind::kRuntime, "ValueError: mine"}});
  EXPECT_TRUE(others.cycle().empty());
  EXPECT_EQ(others.why_broken(), "");
  others.call(0, "a", "sum a");
  others.cycle();
  EXPECT_THAT(others.why_broken(), HasSubstr("rank 1 has failed (ValueError: mine), but rank 0 calls sum a"));
}

TEST(Agreement, RanksThatWaitForEachOtherAreTold) {
  Ranks ranks(2);
  ranks.call(0, "a", "sum a");
  ranks.call(1, "", "barrier");
  EXPECT_TRUE(ranks.cycle().empty());
  ranks.tell(0, {.what = What::kStalled});
  ranks.cycle();
  EXPECT_EQ(ranks.why_broken(), "");  // the program of rank 1 works
  ranks.tell(1, {.what = What::kStalled});
  ranks.cycle();
  EXPECT_EQ(ranks.why_broken(), "");  // and now that of rank 0 does
  for (int rank = 0; rank < 2; ++rank) ranks.tell(rank, {.what = What::kStalled});
  ranks.cycle();
  EXPECT_THAT(ranks.why_broken(), HasSubstr("rank 0 calls sum a; rank 1 calls barrier"));
}

TEST(Agreement, SlowValuesAreNoStall) {
  Ranks ranks(2);
  for (int rank = 0; rank < 2; ++rank) ranks.announce(rank, "a", "sum a");
  ranks.ready(0, "a");
  ranks.cycle();
  const auto stall = [&] {
    for (int rank = 0; rank < 2; ++rank) ranks.tell(rank, {.what = What::kStalled});
  };
  stall();
  ranks.cycle();
  EXPECT_EQ(ranks.why_broken(), "");
  stall();  // while there is news
  ranks.ready(1, "a");
  EXPECT_EQ(ranks.cycle().size(), 1U);
  EXPECT_EQ(ranks.why_broken(), "");
}

TEST(Agreement, WhatIsStatedIsComparedBeforeAnythingElseGoesOut) {
  Ranks ranks(3);
  const auto state = [&](int rank, const std::string& text) {
    ranks.tell(rank, {.what = What::kStated, .name = "step", .call = text});
  };
  for (int rank = 0; rank < 3; ++rank) state(rank, "a step by 2"), state(rank, "a step by 4");
  ranks.cycle();
  EXPECT_EQ(ranks.why_broken(), "");
  for (int rank = 0; rank < 3; ++rank) {
    state(rank, rank == 1 ? "a step by 3" : "a step by 5");
    ranks.call(rank, "barrier", "barrier");
  }
  EXPECT_TRUE(ranks.cycle().empty());
  EXPECT_THAT(ranks.why_broken(), HasSubstr("rank 0 calls a step by 5, but rank 1 calls a step by 3"));
}

TEST(Agreement, BrokenBlocksAreErrors) {
  Agreement one(0, 2);
  const std::vector<Event> events{{.what = What::kAnnounced, .name = "name", .call = "call"}};
  std::vector<std::byte> block = one.block_of(events);
  block.pop_back();
  EXPECT_THROW(one.hear(1, block), Error);
  const std::vector<Event> early{{.what = What::kReady, .name = "a"}};
  EXPECT_THROW(one.hear(1, one.block_of(early)), Error);
}

// Calls of many names, announced and ready at random moments on each rank: all ranks carry out the same, in one order,
// everything once.
TEST(Agreement, OrdersWhatComesAtRandom) {
  constexpr int kRanks = 4, kNames = 12, kRounds = 3;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Ranks ranks(kRanks);
    struct Step {
      bool is_ready;
      int name, round;
    };
    std::vector<std::vector<Step>> steps(kRanks);
    for (std::vector<Step>& own : steps) {
      for (int round = 0; round < kRounds; ++round) {
        std::vector<int> names(kNames);
        std::iota(names.begin(), names.end(), 0);
        std::ranges::shuffle(names, random);
        for (const int name : names) own.push_back({false, name, round});
        std::ranges::shuffle(names, random);
        for (const int name : names) own.push_back({true, name, round});
      }
    }
    std::vector<std::string> order;
    std::vector<size_t> done(kRanks);
    while (order.size() < static_cast<size_t>(kNames * kRounds)) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const auto& own = steps[static_cast<size_t>(rank)];
        size_t& next = done[static_cast<size_t>(rank)];
        for (uint32_t count = random() % 5; count > 0 && next < own.size(); --count, ++next) {
          const std::string name = std::to_string(own[next].name);
          own[next].is_ready ? ranks.ready_at(rank, name, static_cast<uint64_t>(own[next].round))
                             : ranks.announce(rank, name, "sum " + name);
        }
      }
      for (const std::string& name : Ranks::names_of(ranks.cycle())) order.push_back(name);
    }
    for (int name = 0; name < kNames; ++name) EXPECT_EQ(std::ranges::count(order, std::to_string(name)), kRounds);
  }
}

TEST(Agreement, RanksHaveJoinedWhenAllHaveAfterTheSameCalls) {
  Ranks ranks(2);
  ranks.tell(0, {.what = What::kJoined});
  ranks.call(1, "a", "a");
  EXPECT_TRUE(ranks.cycle().empty());
  EXPECT_TRUE(ranks.first().is_behind());
  ranks.tell(1, {.what = What::kJoined});
  EXPECT_TRUE(ranks.cycle().empty());
  EXPECT_EQ(ranks.first().joined(), 0U);
  ranks.call(0, "a", "a");
  EXPECT_THAT(Ranks::names_of(ranks.cycle()), ElementsAre("a"));
  EXPECT_FALSE(ranks.first().is_behind());
  EXPECT_EQ(ranks.first().joined(), 0U);  // it has to come back
  ranks.tell(0, {.what = What::kJoined});
  ranks.cycle();
  EXPECT_EQ(ranks.first().joined(), 1U);
  ranks.cycle();
  EXPECT_EQ(ranks.first().joined(), 1U);
}

TEST(Agreement, WhoHasJoinedWaitsForNobodyThatHasEnded) {
  Ranks ranks(2);
  ranks.tell(0, {.what = What::kJoined});
  ranks.tell(1, {.what = What::kEnded});
  ranks.cycle();
  EXPECT_THAT(ranks.why_broken(), HasSubstr("rank 1 has ended, but rank 0 has joined; all ranks must join"));
}

}  // namespace
}  // namespace headrace::collective
