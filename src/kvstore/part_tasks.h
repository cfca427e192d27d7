// The tasks of one run of a plan on parts of arrays (executor.h). An object pushes tasks in the thread that makes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/var.h"
#include "headrace/ndarray.hpp"
#include "op/op_def.h"

namespace headrace::kvstore {

// Something that tasks touch: an array, and the Var that orders them.
struct Touched {
  NDArray array;
  Var* var;
};

// What a run does with a buffer: reads it, changes it, replaces all of it, or does so unless it fails.
enum class BorderUse : uint8_t { kRead, kChange, kReplace, kReplaceOrKeep };

class PartTasks {
 public:
  // `vars`: as many as there are parts of buffers in the run.
  explicit PartTasks(size_t vars);

  Var* var(size_t number) const noexcept { return &(*vars_)[number]; }

  // From here on tasks use `parts` instead of the Var of `buffer`. An error that it had is theirs, or is over when all
  // of it is replaced.
  void take(const NDArray& buffer, std::span<Var* const> parts, BorderUse use) const;
  // What comes later with `buffer` waits for all that was done with its parts, and has their error unless it is kept.
  void give_back(const NDArray& buffer, std::span<Var* const> parts, BorderUse use) const;

  // Between two devices.
  void copy(const Touched& target, const Touched& source) const;
  // target = operation(target, source), on one device.
  void combine(const OpDef& operation, const Touched& target, const Touched& source) const;

 private:
  std::shared_ptr<std::vector<Var>> vars_;  // the tasks keep them
};

}  // namespace headrace::kvstore
