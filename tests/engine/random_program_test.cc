// The threaded engine against the serial one: the same random programs must leave the same values and errors.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "engine_testing.h"
#include "headrace/sim.hpp"
#include "random_program.h"
#include "tests/support/sanitizers.h"

namespace headrace::testing {
namespace {

constexpr int kSeedsPerCase = test::kIsSanitized ? 60 : 400;

using test::config_with;

struct Outcome {
  std::vector<uint64_t> values;
  std::vector<std::optional<std::string>> errors;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(Engine& engine, std::vector<std::unique_ptr<Cell>>& cells) {
  Outcome outcome;
  for (auto& cell : cells) {
    outcome.errors.push_back(error_of(engine, *cell));
    // What a failed task leaves in a cell is not defined.
    outcome.values.push_back(outcome.errors.back() ? 0 : cell->value);
  }
  return outcome;
}

class RandomProgram : public ::testing::TestWithParam<int> {};

// One pushing thread; waits in between; the result must equal that of the serial engine.
void compare_with_serial(Engine& threaded, Engine& serial, const Shape& shape, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Program program = random_program(random, shape);
  auto expected_cells = make_cells(shape.cells), cells = make_cells(shape.cells);
  for (const Step& step : program) push_step(serial, step, expected_cells);
  for (const Step& step : program) {
    push_step(threaded, step, cells);
    if (random() % 16 == 0) error_of(threaded, *cells[random() % cells.size()]);
  }
  const Outcome outcome = outcome_of(threaded, cells);
  EXPECT_EQ(outcome, outcome_of(serial, expected_cells));
  finish(threaded);
  for (auto& cell : cells) EXPECT_TRUE(cell->var.idle());
}

TEST_P(RandomProgram, EqualsSerialEngine) {
  Engine threaded(config_with(GetParam())), serial(config_with(0, true));
  for (uint64_t seed = 0; seed < kSeedsPerCase && !HasFailure(); ++seed)
    compare_with_serial(threaded, serial, {.blocking = 0.05}, seed);
}

TEST_P(RandomProgram, EqualsSerialEngineWithFailingTasks) {
  Engine threaded(config_with(GetParam())), serial(config_with(0, true));
  for (uint64_t seed = 0; seed < kSeedsPerCase && !HasFailure(); ++seed)
    compare_with_serial(threaded, serial, {.failing = 0.08, .blocking = 0.05}, seed + 1'000'000);
}

// Two cells only: long chains in which readers and writers alternate.
TEST_P(RandomProgram, EqualsSerialEngineOnCrowdedCells) {
  Engine threaded(config_with(GetParam())), serial(config_with(0, true));
  for (uint64_t seed = 0; seed < kSeedsPerCase && !HasFailure(); ++seed)
    compare_with_serial(threaded, serial, {.cells = 2, .steps = 80}, seed + 2'000'000);
}

// Host and streams of one to eight devices take turns on the same cells.
TEST_P(RandomProgram, EqualsSerialEngineOnStreams) {
  sim::configure({.gpus = 8, .clock = sim::Clock::kVirtual});
  Engine threaded(config_with(GetParam())), serial(config_with(0, true));
  for (uint64_t seed = 0; seed < kSeedsPerCase / 4 && !HasFailure(); ++seed)
    compare_with_serial(threaded, serial,
                        {.failing = 0.05, .blocking = 0.05, .devices = 1 + static_cast<int>(seed % 8)},
                        seed + 3'000'000);
}

TEST_P(RandomProgram, EqualsSerialEngineOnCrowdedCellsAndStreams) {
  sim::configure({.gpus = 2, .clock = sim::Clock::kVirtual});
  Engine threaded(config_with(GetParam())), serial(config_with(0, true));
  for (uint64_t seed = 0; seed < kSeedsPerCase / 4 && !HasFailure(); ++seed)
    compare_with_serial(threaded, serial, {.cells = 2, .steps = 80, .failing = 0.03, .devices = 2}, seed + 4'000'000);
}

// Each of several threads pushes to cells of its own and all read some common ones; each thread's own cells must hold
// what the serial engine computes from that thread's program alone.
TEST_P(RandomProgram, SeveralPushingThreads) {
  constexpr int kThreads = 3;
  Engine threaded(config_with(GetParam())), serial(config_with(0, true));
  sim::configure({.gpus = 2, .clock = sim::Clock::kVirtual});
  for (uint64_t seed = 0; seed < kSeedsPerCase / 4 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int devices = seed % 2 ? 2 : 0;
    std::vector<Outcome> outcomes(kThreads), expected(kThreads);
    std::vector<std::vector<std::unique_ptr<Cell>>> cells_of(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(seed * 100 + static_cast<uint64_t>(t));
        const Program program = random_program(random, {.failing = 0.02, .blocking = 0.02, .devices = devices});
        auto& cells = cells_of[static_cast<size_t>(t)] = make_cells(8);
        for (const Step& step : program) {
          push_step(threaded, step, cells);
          if (random() % 16 == 0) error_of(threaded, *cells[random() % cells.size()]);
        }
        outcomes[static_cast<size_t>(t)] = outcome_of(threaded, cells);
        auto expected_cells = make_cells(8);
        for (const Step& step : program) push_step(serial, step, expected_cells);
        expected[static_cast<size_t>(t)] = outcome_of(serial, expected_cells);
      });
    }
    for (auto& thread : threads) thread.join();
    finish(threaded);
    EXPECT_EQ(outcomes, expected);
  }
}

// Several threads push tasks over the same cells. Which order they get is open, but a writer is alone with its cells
// and a reader sees what one writer left behind.
TEST_P(RandomProgram, ThreadsThatShareCells) {
  constexpr int kThreads = 3, kGroups = 3, kTasks = 400;
  Engine engine(config_with(GetParam()));
  struct Group {
    Var first_var, second_var;
    int64_t first = 0, second = 0;  // always equal between tasks
  };
  for (uint64_t seed = 0; seed < kSeedsPerCase / 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<Group> groups(kGroups);
    std::atomic<int64_t> torn{0}, writes{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(seed * 10 + static_cast<uint64_t>(t));
        for (int i = 0; i < kTasks; ++i) {
          Group& group = groups[random() % kGroups];
          std::array<Var*, 2> vars{&group.first_var, &group.second_var};
          if (random() % 2) std::swap(vars[0], vars[1]);
          const double cost = random() % 2 ? 100 : 5000;
          if (random() % 2) {
            ++writes;
            engine.push({.name = "write", .reads = vars, .writes = vars, .cost_ns = cost}, [&group] {
              ++group.first;
              ++group.second;
            });
          } else {
            engine.push({.name = "read", .reads = vars, .cost_ns = cost},
                        [&group, &torn] { torn += group.first != group.second; });
          }
          if (random() % 64 == 0) engine.wait_to_read(*vars[0]);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    engine.wait_all();
    int64_t sum = 0;
    for (Group& group : groups) {
      EXPECT_EQ(group.first, group.second);
      EXPECT_TRUE(group.first_var.idle() && group.second_var.idle());
      sum += group.first;
    }
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(sum, writes);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, RandomProgram, ::testing::Values(1, 2, 4, 16));

}  // namespace
}  // namespace headrace::testing
