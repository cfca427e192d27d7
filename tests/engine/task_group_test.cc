// Which queued tasks run as one group, and what becomes of the others.
#include "engine/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/engine_testing.h"

namespace headrace {
namespace {

using test::kDear;
using ::testing::ElementsAre;

// What ran, in order: one text per task, or several joined by '+' where they ran as one.
class Journal {
 public:
  void add(std::string entry) {
    std::lock_guard guard(mutex_);
    entries_.push_back(std::move(entry));
  }
  std::vector<std::string> entries() const {
    std::lock_guard guard(mutex_);
    return entries_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> entries_;  // guarded by mutex_
};

struct Letter {
  Journal* journal;
  char name;
  bool can_lead = true, can_join = true, throws = false;
  const char* after = nullptr;  // begins when this is in the journal

  void operator()() const {
    while (after && std::ranges::count(journal->entries(), after) == 0) std::this_thread::yield();
    journal->add(std::string(1, name));
    if (throws) throw std::runtime_error(std::string("letter ") + name);
  }

  static const Letter& of(const void* body) noexcept { return *static_cast<const Letter*>(body); }
  static const GroupType kGroup;
};

constexpr GroupType Letter::kGroup{
    .can_lead = [](const void* body) noexcept { return of(body).can_lead; },
    .can_join = [](std::span<void* const>, const void* body) noexcept { return of(body).can_join; },
    .run = [](std::span<void* const> group) -> const char* {
      std::string entry;
      for (const void* body : group) {
        if (of(body).throws) throw std::runtime_error("not as a group");
        if (!entry.empty()) entry += '+';
        entry += of(body).name;
      }
      of(group[0]).journal->add(entry);
      return "group";
    }};

class TaskGroups : public ::testing::Test {
 protected:
  static Config one_worker() {
    Config config;
    config.workers = 1;
    return config;
  }

  TaskGroups() {
    // Whatever is pushed piles up behind this task until wait().
    engine.push({.name = "gate", .writes = gate_writes, .cost_ns = 1e9}, [this] {
      started = true;
      while (!open) std::this_thread::yield();
    });
    while (!started) std::this_thread::yield();
  }

  void push(char name, std::vector<Var*> reads, std::vector<Var*> writes, Letter letter = {}, Priority priority = {}) {
    letter.journal = &journal;
    letter.name = name;
    reads.push_back(&gate);
    engine.push({.name = "letter",
                 .reads = reads,
                 .writes = writes,
                 .cost_ns = kDear,
                 .priority = priority,
                 .may_block = letter.after != nullptr},
                letter);
  }

  std::vector<std::string> wait() {
    open = true;
    engine.wait_all();
    return journal.entries();
  }

  Engine engine{one_worker()};
  std::atomic<bool> started{false}, open{false};
  Journal journal;
  Var gate, x, y, z, w;
  std::vector<Var*> gate_writes{&gate};
};

TEST_F(TaskGroups, AChainRunsAsOne) {
  push('a', {&x}, {&y});
  push('b', {&y}, {&z});
  push('c', {&z, &x}, {&w});
  EXPECT_THAT(wait(), ElementsAre("a+b+c"));
  EXPECT_TRUE(y.idle() && z.idle() && w.idle());
}

TEST_F(TaskGroups, UpdatesInPlaceJoin) {
  push('a', {&x}, {&y});
  push('b', {&y}, {&y});
  push('c', {&y}, {&x});  // writes what 'a' reads
  EXPECT_THAT(wait(), ElementsAre("a+b+c"));
}

TEST_F(TaskGroups, WhatWaitsForAnotherTaskStaysOut) {
  push('a', {}, {&x}, {.can_lead = false, .after = "b+d"});
  push('b', {}, {&y});
  push('c', {&x, &y}, {&z});
  push('d', {&y}, {&w});
  EXPECT_THAT(wait(), ElementsAre("b+d", "a", "c"));
}

TEST_F(TaskGroups, AWriterWaitsForAReaderOutsideOfTheGroup) {
  push('a', {}, {&x});
  push('b', {&x}, {&y}, {.can_lead = false, .can_join = false});
  push('c', {}, {&x});
  EXPECT_THAT(wait(), ElementsAre("a", "b", "c"));
}

TEST_F(TaskGroups, TheBodyDecidesWhoLeadsAndJoins) {
  push('a', {}, {&x}, {.can_lead = false});
  push('b', {&x}, {&y});
  push('c', {&y}, {&z}, {.can_join = false});
  push('d', {&z}, {&w});
  EXPECT_THAT(wait(), ElementsAre("a", "b", "c+d"));
}

TEST_F(TaskGroups, PrioritiesDoNotMix) {
  push('a', {}, {&x}, {}, Priority::kNormal);
  push('b', {&x}, {&y}, {}, Priority::kLow);
  EXPECT_THAT(wait(), ElementsAre("a", "b"));
}

TEST_F(TaskGroups, WhatAThreadWaitsForIsNotHeldUp) {
  push('a', {&x}, {&y});
  EXPECT_FALSE(engine.wait_to_read_for(y, std::chrono::milliseconds(1)));
  push('b', {&y}, {&z});
  EXPECT_THAT(wait(), ElementsAre("a", "b"));
}

TEST_F(TaskGroups, AGroupThatCannotRunRunsTaskByTaskAndErrorsStayWhereTheyBelong) {
  push('a', {}, {&x});
  push('b', {&x}, {&y}, {.throws = true});
  push('c', {&y}, {&z});
  open = true;
  EXPECT_THROW(engine.wait_to_read(z), std::runtime_error);
  EXPECT_NO_THROW(engine.wait_to_read(x));
  EXPECT_THROW(engine.wait_to_read(y), std::runtime_error);
  EXPECT_THAT(wait(), ElementsAre("a", "b"));
}

TEST_F(TaskGroups, ALongChainIsCutIntoGroups) {
  std::vector<Var> vars(101);
  for (size_t i = 0; i < 100; ++i) push('a', {&vars[i]}, {&vars[i + 1]});
  const auto entries = wait();
  size_t letters = 0;
  for (const std::string& entry : entries) letters += (entry.size() + 1) / 2;
  EXPECT_EQ(letters, 100u);
  EXPECT_LT(entries.size(), 12u);
}

}  // namespace
}  // namespace headrace
