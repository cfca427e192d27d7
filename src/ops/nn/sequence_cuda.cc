#include <fmt/format.h>

#include <cstring>

#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/nn/sequence.cuh"
#include "ops/nn/sequence.h"

namespace headrace {
namespace {

void move_sequences_cuda(KernelContext& c, SequenceMove move, int64_t axis, double value) {
  constexpr unsigned kThreads = 256;
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Shape& shape = move == SequenceMove::kSpread ? to.shape : from.shape;
  const auto time_axis = static_cast<size_t>(axis);
  const Strides strides = contiguous_strides(shape);
  const bool has_lengths = c.input_count() > 1;
  device::SequenceArguments arguments{from.data,
                                      has_lengths ? c.input(1).data : nullptr,
                                      to.data,
                                      shape[time_axis],
                                      shape[1 - time_axis],
                                      strides[1],
                                      strides[time_axis],
                                      strides[1 - time_axis],
                                      0};
  dispatch(to.dtype, [&]<class T>() {
    const T filling = numeric_cast<T>(value);
    std::memcpy(&arguments.filling, &filling, sizeof filling);
  });
  launch_cuda(
      {"ops/nn/sequence.cuh",
       fmt::format("move_sequences<uint{}_t, static_cast<device::SequenceMove>({}), {}>", 8 * item_size(to.dtype),
                   static_cast<int>(move), element_name(has_lengths ? c.input(1).dtype : DType::kInt64)),
       "SequenceArguments"},
      {blocks_for((to.size + kThreads - 1) / kThreads), kThreads}, arguments);
}

}  // namespace

void add_sequence_cuda(KernelTable& table) {
  table.set_part(move_sequences, move_sequences_cuda);
  table.set_own_kernels({"SequenceMask", "SequenceLast", "_backward_SequenceLast", "SequenceReverse"});
}

}  // namespace headrace
