// Random programs for the engine and their meaning. A program is a list of tasks over a few integer cells, each cell
// ordered by a Var. Every task writes to its cells a mix of what it reads, so a single wrong order changes the result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/registry.h"
#include "engine/engine.h"

namespace headrace::testing {

inline constexpr int kStreamsPerDevice = 4;

struct Cell {
  Var var;
  uint64_t value = 1;
};

struct Step {
  std::vector<int> reads, writes;  // indices of cells; may repeat and overlap
  uint64_t salt = 0;
  double cost_ns = 0;
  Priority priority = Priority::kNormal;
  bool may_block = false;
  bool throws = false;
  int place = 0;  // 0: the host; else number of a stream, see stream_at()
  int spin = 0;   // rounds of busy work, so that tasks overlap
};

using Program = std::vector<Step>;

struct Shape {
  int cells = 8;
  int steps = 60;
  double failing = 0;   // share of steps that throw
  double blocking = 0;  // share of steps that may block
  int devices = 0;      // simulated GPUs: with some, two steps of three run on their streams
};

inline Program random_program(std::mt19937_64& random, const Shape& shape) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  const auto chance = [&](double share) { return static_cast<double>(random() % 10000) < share * 10000; };
  Program program(static_cast<size_t>(shape.steps));
  for (Step& step : program) {
    const int most = chance(0.05) ? 12 : 3;  // some tasks have more accesses than a Task holds inline
    for (int i = below(most + 1); i > 0; --i) step.reads.push_back(below(shape.cells));
    for (int i = below(most) + 1; i > 0; --i) step.writes.push_back(below(shape.cells));
    if (chance(0.3)) step.reads.push_back(step.writes[0]);
    step.salt = random();
    step.cost_ns = chance(0.5) ? 100 : 5000;
    step.priority = static_cast<Priority>(below(3));
    step.may_block = chance(shape.blocking);
    step.throws = chance(shape.failing);
    step.spin = chance(0.2) ? below(400) : 0;
    if (shape.devices > 0 && chance(0.67)) step.place = 1 + below(shape.devices * kStreamsPerDevice);
  }
  return program;
}

// Compute, both directions of copies, and one stream for copies from another device.
inline Stream* stream_at(int place) {
  if (place == 0) return nullptr;
  const int device = (place - 1) / kStreamsPerDevice;
  return &accelerator_of({DeviceType::kGpu, device})->stream((place - 1) % kStreamsPerDevice);
}

// What a step does to the values, given that it runs alone.
inline void apply(const Step& step, std::vector<std::unique_ptr<Cell>>& cells) {
  uint64_t mix = step.salt;
  for (int i : step.reads) mix = (mix ^ cells[static_cast<size_t>(i)]->value) * 0x9E3779B97F4A7C15u;
  for (int i = 0; i < step.spin; ++i) asm volatile("" ::: "memory");
  if (step.throws) throw std::runtime_error("step " + std::to_string(step.salt));
  for (size_t i = 0; i < step.writes.size(); ++i) cells[static_cast<size_t>(step.writes[i])]->value = mix + i;
}

inline std::vector<std::unique_ptr<Cell>> make_cells(int count) {
  std::vector<std::unique_ptr<Cell>> cells;
  for (int i = 0; i < count; ++i) {
    cells.push_back(std::make_unique<Cell>());
    cells.back()->value = static_cast<uint64_t>(i + 1);
  }
  return cells;
}

using Cells = std::vector<std::unique_ptr<Cell>>;

// Runs with its neighbours where it may: steps of even salt begin and join groups, and some groups refuse to run.
struct StepBody {
  const Step* step;
  Cells* cells;

  void operator()() const {
    run_on_device({}, [body = *this] { apply(*body.step, *body.cells); });
  }

  static const StepBody& of(const void* body) noexcept { return *static_cast<const StepBody*>(body); }
  bool may_group() const noexcept { return step->salt % 2 == 0 && !step->throws; }

  static const GroupType kGroup;
};

inline constexpr GroupType StepBody::kGroup{
    .can_lead = [](const void* body) noexcept { return of(body).may_group(); },
    .can_join = [](std::span<void* const> group,
                   const void* body) noexcept { return of(body).may_group() && group.size() < 5; },
    .run = [](std::span<void* const> group) -> const char* {
      if (of(group[0]).step->salt % 16 == 0) throw std::runtime_error("this group does not run");
      for (const void* body : group) of(body)();
      return "group";
    }};

inline void push_step(Engine& engine, const Step& step, std::vector<std::unique_ptr<Cell>>& cells) {
  std::vector<Var*> reads, writes;
  for (int i : step.reads) reads.push_back(&cells[static_cast<size_t>(i)]->var);
  for (int i : step.writes) writes.push_back(&cells[static_cast<size_t>(i)]->var);
  const TaskSpec spec{.name = "step",
                      .reads = reads,
                      .writes = writes,
                      .cost_ns = step.cost_ns,
                      .priority = step.priority,
                      .may_block = step.may_block && step.place == 0,
                      .stream = stream_at(step.place)};
  engine.push(spec, StepBody{&step, &cells});
}

// The text of the error that a wait on the cell raises, if any.
inline std::optional<std::string> error_of(Engine& engine, Cell& cell) {
  try {
    engine.wait_to_read(cell.var);
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

// Nothing is left behind that could still touch a cell. A wait for one cell does not tell that: a stream that read it
// before another one wrote it may note its own end later.
inline void finish(Engine& engine) {
  while (true) {
    try {
      return engine.wait_all();
    } catch (const std::exception&) {  // errors of the programs do not matter any more
    }
  }
}

}  // namespace headrace::testing
