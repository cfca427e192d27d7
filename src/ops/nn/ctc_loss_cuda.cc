#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"
#include "base/check.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/nn/ctc_loss.cuh"
#include "ops/nn/ctc_loss.h"
#include "ops/reduce/row_width_cuda.h"

namespace headrace {
namespace {

constexpr const char* kCtcHeader = "ops/nn/ctc_loss.cuh";

// The work fails when the stream has come to it and a label is no class.
void raise_wrong_label(KernelContext& c, const int64_t* found, int64_t classes) {
  constexpr size_t kBytes = 2 * sizeof(int64_t);
  const auto here = std::make_shared<const PinnedBlock>(kBytes);
  current_work()->hold(here);
  const Device gpu = current_device();
  current_cuda_stream().copy({{DeviceType::kCpuPinned, 0}, here->data()}, {gpu, const_cast<int64_t*>(found)}, kBytes);
  run_on_device({}, [here, name = std::string(c.name()), classes] {
    const auto* const wrong = static_cast<const int64_t*>(here->data());
    check(wrong[0] < 0, ErrorKind::kValue, "{}: labels must be classes from 0 to {}, got {} in label {}", name,
          classes - 1, wrong[1], wrong[0]);
  });
}

// Reads labels and lengths, and computes the probability of each label. Inputs begin at `first`.
device::CtcArguments forward(KernelContext& c, const CtcAttrs& attrs, size_t first, void* losses) {
  const Tensor &scores = c.input(first), &labels = c.input(first + 1);
  const int64_t time = scores.shape[0], count = scores.shape[1], classes = scores.shape[2], width = labels.shape[1];
  const bool keeps_all = losses == nullptr;
  size_t next = first + 2;
  const Tensor* const times = attrs.use_data_lengths ? &c.input(next++) : nullptr;
  const Tensor* const lengths = attrs.use_label_lengths ? &c.input(next) : nullptr;
  const auto integers = [&](int64_t n) { return c.workspace<int64_t>(std::max<int64_t>(n, 1)); };
  const auto doubles = [&](int64_t n) { return c.workspace<double>(std::max<int64_t>(n, 1)); };
  const bool is_first = attrs.blank_label == "first";
  const device::CtcNumbersArguments numbers{.labels = labels.data,
                                            .given_times = times ? times->data : nullptr,
                                            .given_lengths = lengths ? lengths->data : nullptr,
                                            .numbers = integers(count * width),
                                            .times = integers(count),
                                            .lengths = integers(count),
                                            .found = integers(2),
                                            .time = time,
                                            .count = count,
                                            .classes = classes,
                                            .width = width,
                                            .padding = is_first ? 0 : -1};
  const auto type_of = [](const Tensor* tensor) { return element_name(tensor ? tensor->dtype : DType::kInt64); };
  launch_cuda({kCtcHeader, fmt::format("ctc_numbers<{}, {}, {}>", type_of(&labels), type_of(times), type_of(lengths)),
               "CtcNumbersArguments"},
              {1, device::kCtcThreads}, numbers);
  raise_wrong_label(c, numbers.found, classes);
  const int64_t rows = keeps_all ? std::max<int64_t>(time, 2) : 2, places = 2 * width + 1;
  const device::CtcArguments arguments{.scores = scores.data,
                                       .head = nullptr,
                                       .to = losses,
                                       .labels = numbers.numbers,
                                       .times = numbers.times,
                                       .lengths = numbers.lengths,
                                       .norms = doubles(time * count),
                                       .ahead = doubles(count * rows * places),
                                       .totals = doubles(count),
                                       .rows_behind = keeps_all ? doubles(3 * count * places) : nullptr,
                                       .links = keeps_all ? integers(2 * count * width) : nullptr,
                                       .time = time,
                                       .count = count,
                                       .classes = classes,
                                       .width = width,
                                       .blank = is_first ? 0 : classes - 1,
                                       .rows = rows};
  const RowWidth norm_width(classes, 1);
  launch_cuda(
      {kCtcHeader, fmt::format("ctc_norms<{}, {}>", element_name(scores.dtype), norm_width.threads), "CtcArguments"},
      norm_width.grid(time * count), arguments);
  launch_cuda({kCtcHeader, fmt::format("ctc_forward<{}>", element_name(scores.dtype)), "CtcArguments"},
              {blocks_for(count), device::kCtcThreads}, arguments);
  return arguments;
}

void ctc_forward_cuda(KernelContext& c, const CtcAttrs& attrs) {
  if (c.output(0).size > 0) forward(c, attrs, 0, c.output(0).data);
}

void ctc_backward_cuda(KernelContext& c, const CtcAttrs& attrs) {
  const Tensor &head = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  device::CtcArguments arguments = forward(c, attrs, 1, nullptr);
  arguments.head = head.data;
  arguments.to = to.data;
  launch_cuda({kCtcHeader, fmt::format("ctc_backward<{}, {}>", element_name(to.dtype), element_name(head.dtype)),
               "CtcArguments"},
              {blocks_for(arguments.count), device::kCtcThreads}, arguments);
}

}  // namespace

void add_ctc_loss_cuda(KernelTable& table) {
  table.set_part(ctc_forward, ctc_forward_cuda);
  table.set_part(ctc_backward, ctc_backward_cuda);
  table.set_own_kernels({"CTCLoss", "_backward_ctc_loss"});
}

}  // namespace headrace
