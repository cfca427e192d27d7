// What a kernel on sparse arrays is given.
#pragma once

#include <span>

#include "ndarray/sparse_parts.h"
#include "op/op_def.h"

namespace headrace {

// One run, on the thread that runs the task. Dense arrays are packed.
class SparseContext {
 public:
  SparseContext(const OpDef& op, std::span<View* const> inputs, std::span<View* const> outputs,
                uint64_t ticket) noexcept
      : op_(op), inputs_(inputs), outputs_(outputs), ticket_(ticket) {}

  const OpDef& op() const noexcept { return op_; }
  const char* name() const noexcept { return op_.shown_name(); }
  uint64_t ticket() const noexcept { return ticket_; }
  // Shape and dtype; of a dense array also its memory, as data<T>().
  size_t input_count() const noexcept { return inputs_.size(); }
  const View& input(size_t i) const noexcept { return *inputs_[i]; }
  const View& output(size_t i = 0) const noexcept { return *outputs_[i]; }
  template <class T>
  static T* data(const View& dense) {
    return reinterpret_cast<T*>(dense.data());
  }
  // Of a sparse input.
  const SparseParts& parts(size_t i) const { return inputs_[i]->storage()->parts(); }
  // Room for `count` stored rows or elements of sparse output i; set() makes them its contents.
  SparseParts make(size_t i, int64_t count) const {
    const View& to = *outputs_[i];
    return make_parts(to.storage()->kind(), to.shape(), to.dtype(), count);
  }
  void set(size_t i, SparseParts parts) const { outputs_[i]->storage()->set_parts(std::move(parts)); }

 private:
  const OpDef& op_;
  std::span<View*const> inputs_, outputs_;
  uint64_t ticket_;
};

}  // namespace headrace
