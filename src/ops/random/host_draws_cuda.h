// Draws that the host makes for a GPU: from states that operations take in turns, or one after the other.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"
#include "op/catalogue.h"
#include "op/kernel.h"

namespace headrace {

inline size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.size) * item_size(t.dtype); }

// Arrays in pinned memory of the host, each like one of the device.
class PinnedArrays {
 public:
  PinnedArrays(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    for (const Tensor& tensor : inputs) inputs_.emplace_back(tensor);
    for (const Tensor& tensor : outputs) outputs_.emplace_back(tensor);
  }

  void* input(size_t i) const { return inputs_[i].block.data(); }
  void* output(size_t i) const { return outputs_[i].block.data(); }

  // Calls use(context of an operation on these arrays).
  template <class Use>
  void with_context(const OpDef& op, uint64_t ticket, const Use& use) const {
    const std::vector<Tensor> inputs = tensors(inputs_), outputs = tensors(outputs_);
    KernelContext context(op, inputs, outputs, ticket);
    use(context);
  }

 private:
  struct Array {
    explicit Array(const Tensor& there)
        : shape(there.shape),
          strides(there.strides),
          dtype(there.dtype),
          size(there.size),
          block(std::max<size_t>(bytes_of(there), 1)) {}
    const Shape shape;
    const Strides strides;
    const DType dtype;
    const int64_t size;
    const PinnedBlock block;
  };

  static std::vector<Tensor> tensors(const std::deque<Array>& arrays) {
    std::vector<Tensor> made;
    for (const Array& a : arrays) made.push_back({a.block.data(), a.dtype, a.shape, a.strides, a.size});
    return made;
  }

  std::deque<Array> inputs_, outputs_;
};

// Calls draw(context) on a thread of the host when the stream has come to it, with copies of these arrays; it
// makes the outputs.
template <class Draw>
void draw_on_host_later(KernelContext& c, std::span<const Tensor> inputs, std::span<const Tensor> outputs, Draw draw) {
  const auto arrays = std::make_shared<const PinnedArrays>(inputs, outputs);
  current_work()->hold(arrays);
  const Device gpu = current_device(), pinned{DeviceType::kCpuPinned, 0};
  CudaStream& stream = current_cuda_stream();
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].size > 0) stream.copy({pinned, arrays->input(k)}, {gpu, inputs[k].data}, bytes_of(inputs[k]));
  run_on_device({}, [arrays, draw = std::move(draw), &op = c.op(), ticket = c.ticket()] {
    arrays->with_context(op, ticket, draw);
  });
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].size > 0) stream.copy({gpu, outputs[k].data}, {pinned, arrays->output(k)}, bytes_of(outputs[k]));
}

}  // namespace headrace
