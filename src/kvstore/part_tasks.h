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

class PartTasks {
 public:
  // `vars`: as many as there are parts of buffers in the run.
  explicit PartTasks(size_t vars);

  Var* var(size_t number) const noexcept { return &(*vars_)[number]; }

  // From here on tasks use `parts` instead of the Var of `buffer`; they write them if it `is_written`.
  void take(const NDArray& buffer, std::span<Var* const> parts, bool is_written) const {
    push_border("kvstore begin", buffer, parts, is_written);
  }
  // What comes later with `buffer` waits for all that was done with its parts, and has their error.
  void give_back(const NDArray& buffer, std::span<Var* const> parts, bool is_written) const {
    push_border("kvstore end", buffer, parts, is_written);
  }

  // Between two devices.
  void copy(const Touched& target, const Touched& source) const;
  // target = operation(target, source), on one device.
  void combine(const OpDef& operation, const Touched& target, const Touched& source) const;

 private:
  void push_border(const char* name, const NDArray& buffer, std::span<Var* const> parts, bool is_written) const;

  std::shared_ptr<std::vector<Var>> vars_;  // the tasks keep them
};

}  // namespace headrace::kvstore
