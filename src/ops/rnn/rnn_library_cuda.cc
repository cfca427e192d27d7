// Recurrent layers by cuDNN.
#include <vector>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/dnn_rnn.h"
#include "base/check.h"
#include "device/registry.h"
#include "op/copy_part.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/rnn/rnn_library.h"

namespace headrace {
namespace {

DnnRnn described(const RnnProblem& p) {
  const RnnSizes s(p.attrs, p.input);
  return {.cell = p.attrs.mode == "lstm"       ? DnnCell::kLstm
                  : p.attrs.mode == "gru"      ? DnnCell::kGru
                  : p.attrs.mode == "rnn_relu" ? DnnCell::kRelu
                                               : DnnCell::kTanh,
          .dtype = p.dtype,
          .is_bidirectional = p.attrs.bidirectional,
          .steps = p.steps,
          .batch = p.batch,
          .input = p.input,
          .state = s.state,
          .output = s.output,
          .layers = s.layers};
}

std::optional<int64_t> bytes_kept(Device device, const RnnProblem& problem) {
  if (device.id >= device_count(device.type)) return {};  // whoever uses it is told
  const DnnRnnPlan* const plan = find_rnn(device, described(problem));
  return plan ? std::optional(static_cast<int64_t>(sizes_of(*plan).reserve)) : std::nullopt;
}

// A pass of which `data` are the input sequences.
class LibraryPass {
 public:
  LibraryPass(KernelContext& context, const RnnLibraryAttrs& a, const Tensor& data)
      : context_(context), dtype_(data.dtype), plan_(plan_for(a, data)), sizes_(sizes_of(plan_)) {
    const std::vector<int32_t> same(static_cast<size_t>(data.shape[1]), static_cast<int32_t>(data.shape[0]));
    lengths_ = static_cast<const int32_t*>(copy_to_device(context, std::as_bytes(std::span(same))));
  }

  void forward() {
    const bool has_cells = context_.input_count() == 4, keeps = context_.output(3).size > 0;
    check_kept(context_.output(3), keeps);
    put_rnn_forward(current_cuda_stream(), plan_,
                    {.x = context_.input(0).data,
                     .hx = context_.input(2).data,
                     .cx = has_cells ? context_.input(3).data : nullptr,
                     .weights = weights(context_.input(1)),
                     .y = context_.output(0).data,
                     .hy = context_.output(1).data,
                     .cy = has_cells ? context_.output(2).data : nullptr,
                     .reserve = keeps ? context_.output(3).data : nullptr,
                     .lengths = lengths_,
                     .workspace = workspace()});
  }

  void backward() {
    const bool has_cells = context_.input_count() == 9;
    const Tensor &kept = context_.input(6), &parameters = context_.output(1);
    check_kept(kept, true);
    void* const used_up = scratch_.take(sizes_.reserve);
    copy_elements(context_, used_up, Strides{1}, kept.data, Strides{1}, kept.shape, kept.dtype);
    void* const sums = sizes_.moves.empty() ? parameters.data : scratch_.take(sizes_.weights);
    zero(sums);
    put_rnn_backward(current_cuda_stream(), plan_,
                     {.x = context_.input(2).data,
                      .hx = context_.input(4).data,
                      .cx = has_cells ? context_.input(7).data : nullptr,
                      .weights = weights(context_.input(3)),
                      .y = context_.input(5).data,
                      .dy = context_.input(0).data,
                      .dhy = context_.input(1).data,
                      .dcy = has_cells ? context_.input(8).data : nullptr,
                      .dx = context_.output(0).data,
                      .dhx = context_.output(2).data,
                      .dcx = has_cells ? context_.output(3).data : nullptr,
                      .dweights = sums,
                      .reserve = used_up,
                      .lengths = lengths_,
                      .workspace = workspace()});
    for (const DnnRun& run : sizes_.moves) move(parameters.data, run.here, sums, run.there, run.count);
  }

 private:
  static const DnnRnnPlan& plan_for(const RnnLibraryAttrs& a, const Tensor& data) {
    const RnnAttrs layers = a.layers();
    const DnnRnnPlan* const found =
        find_rnn(current_device(), described({layers, data.dtype, data.shape[0], data.shape[1], data.shape[2]}));
    check(found != nullptr, ErrorKind::kRuntime, "RNN: cuDNN on {} does not compute these layers",
          to_string(current_device()));
    return *found;
  }

  void check_kept(const Tensor& kept, bool is_needed) const {
    check(!is_needed || kept.size == static_cast<int64_t>(sizes_.reserve), ErrorKind::kRuntime,
          "{}: cuDNN keeps {} bytes for the backward pass, kept_bytes says {}", context_.name(),
          static_cast<int64_t>(sizes_.reserve), kept.size);
  }

  const void* weights(const Tensor& parameters) {
    if (sizes_.moves.empty()) return parameters.data;
    void* const there = scratch_.take(sizes_.weights);
    zero(there);
    for (const DnnRun& run : sizes_.moves) move(there, run.there, parameters.data, run.here, run.count);
    return there;
  }

  void zero(void* weights) {
    const Shape shape{static_cast<int64_t>(sizes_.weights / item_size(dtype_))};
    const Strides strides{1};
    fill(context_, Tensor{weights, dtype_, shape, strides, shape[0]}, 0.0);
  }

  // Places are counted in elements.
  void move(void* to, int64_t to_place, const void* from, int64_t from_place, int64_t count) {
    const auto item = static_cast<int64_t>(item_size(dtype_));
    copy_elements(context_, static_cast<char*>(to) + to_place * item, Strides{1},
                  static_cast<const char*>(from) + from_place * item, Strides{1}, Shape{count}, dtype_);
  }

  void* workspace() { return sizes_.workspace > 0 ? scratch_.take(sizes_.workspace) : nullptr; }

  KernelContext& context_;
  const DType dtype_;
  const DnnRnnPlan& plan_;
  const DnnRnnSizes& sizes_;
  LaunchScratch scratch_;
  const int32_t* lengths_;
};

}  // namespace

void add_rnn_library_cuda(KernelTable& table) {
  table.set_answer(bytes_kept_by_rnn, bytes_kept);
  table.set(find_op("_rnn_by_library"),
            [](KernelContext& c, const RnnLibraryAttrs& a) { LibraryPass(c, a, c.input(0)).forward(); });
  table.set(find_op("_backward_rnn_by_library"),
            [](KernelContext& c, const RnnLibraryAttrs& a) { LibraryPass(c, a, c.input(2)).backward(); });
}

}  // namespace headrace
