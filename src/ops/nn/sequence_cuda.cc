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

void run_sequences_cuda(KernelContext& c, SequenceWork work, int64_t axis, double value) {
  const Tensor& to = c.output(0);
  if (to.size == 0) return;
  const Shape& whole = (work == SequenceWork::kLast ? c.input(0) : to).shape;
  const bool by_time = axis == 0, has_lengths = c.input_count() > 1;
  device::SequenceArguments arguments{.from = c.input(0).data,
                                      .lengths = has_lengths ? c.input(1).data : nullptr,
                                      .to = to.data,
                                      .time = whole[by_time ? 0 : 1],
                                      .batch = whole[by_time ? 1 : 0],
                                      .item = 1,
                                      .by_time = by_time,
                                      .size = to.size,
                                      .filled = 0};
  for (size_t d = 2; d < whole.size(); ++d) arguments.item *= whole[d];
  dispatch(to.dtype, [&]<class T>() {
    const T converted = numeric_cast<T>(value);
    std::memcpy(&arguments.filled, &converted, sizeof converted);
  });
  launch_cuda({"ops/nn/sequence.cuh",
               fmt::format("run_sequences<{}, {}, static_cast<device::SequenceWork>({})>", bits_name(to.dtype),
                           element_name(has_lengths ? c.input(1).dtype : DType::kInt64), static_cast<int>(work)),
               "SequenceArguments"},
              grid_of(to.size), arguments);
}

}  // namespace

void add_sequence_cuda(KernelTable& table) {
  table.set_part(run_sequences, run_sequences_cuda);
  table.set_own_kernels({"SequenceMask", "SequenceLast", "_backward_SequenceLast", "SequenceReverse"});
}

}  // namespace headrace
