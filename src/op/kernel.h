// What an operator's kernel is given.
#pragma once

#include <span>

#include "device/allocator.h"
#include "headrace/ndarray.hpp"
#include "op/op_def.h"

namespace headrace {

class Storage;

// What a kernel sees of one array. Row-major and packed, except for inputs of an operator that says strided_inputs and
// for outputs for which its rule gave strides.
struct Tensor {
  void* data;
  DType dtype;
  const Shape& shape;
  const Strides& strides;  // in elements
  int64_t size;
  Storage* storage = nullptr;  // in whose memory it lies; null for memory of the run alone

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }
};

// One run of a kernel, on the thread that runs the task.
class KernelContext {
 public:
  KernelContext(const OpDef& op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                uint64_t ticket) noexcept
      : op_(op), inputs_(inputs), outputs_(outputs), ticket_(ticket) {}
  KernelContext(const KernelContext&) = delete;
  ~KernelContext();

  const OpDef& op() const noexcept { return op_; }
  const char* name() const noexcept;  // as errors call it
  size_t input_count() const noexcept { return inputs_.size(); }
  size_t output_count() const noexcept { return outputs_.size(); }
  const Tensor& input(size_t i) const noexcept { return inputs_[i]; }
  const Tensor& output(size_t i) const noexcept { return outputs_[i]; }
  uint64_t ticket() const noexcept { return ticket_; }
  // Scratch memory, 64-byte aligned, valid until the kernel returns or calls release_workspace().
  void* workspace(size_t bytes);
  void release_workspace() noexcept;
  template <class T>
  T* workspace(int64_t count) {
    return static_cast<T*>(workspace(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  const OpDef& op_;
  std::span<const Tensor> inputs_, outputs_;
  uint64_t ticket_;
  SmallVector<ScratchBlock, 4> blocks_;
};

}  // namespace headrace
