#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"
#include "op/catalogue.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/random/fill.cuh"
#include "ops/random/fill.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/random/fill.cuh";

// An array in pinned memory of the host, which is to be copied to one of the device.
class HostArray {
 public:
  explicit HostArray(const Tensor& there)
      : shape_(there.shape), strides_(there.strides), dtype_(there.dtype), bytes_(bytes_of(there)) {
    data_ = pinned_memory().allocate(bytes_);
  }
  ~HostArray() { pinned_memory().release(data_, bytes_); }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  static size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.size) * item_size(t.dtype); }
  Tensor tensor() const { return {data_, dtype_, shape_, strides_, element_count(shape_)}; }
  void* data() const { return data_; }

 private:
  const Shape shape_;
  const Strides strides_;
  const DType dtype_;
  const size_t bytes_;
  void* data_ = nullptr;
};

// What states of the host give, drawn when the stream has come to it: draw(context, output).
template <class Draw>
void draw_there(KernelContext& c, const Tensor& output, Draw draw) {
  const auto here = std::make_shared<const HostArray>(output);
  current_work()->hold(here);
  run_on_device({}, [here, draw, &op = find_op(c.name()), ticket = c.ticket()] {
    KernelContext late(op, {}, {}, ticket);
    draw(late, here->tensor());
  });
  const Device gpu = current_device();
  current_cuda_stream().copy({gpu, output.data}, {{DeviceType::kCpuPinned, 0}, here->data()},
                             HostArray::bytes_of(output));
}

void draw_variates_cuda(KernelContext& c, const Variates& v, const Tensor& output) {
  if (output.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_there(c, output, [v](KernelContext& late, const Tensor& to) { draw_variates(late, v, to); });
  const device::VariateArguments arguments{output.data, output.size, c.ticket(), v.offset, v.factor};
  launch_cuda({kHeader,
               fmt::format("draw_variates<{}, {}, {}>", v.in_double ? "double" : "float", element_name(output.dtype),
                           v.kind == VariateKind::kNormal),
               "VariateArguments"},
              grid_of(output.size), arguments);
}

void draw_flags_cuda(KernelContext& c, const Tensor& flags, float bound) {
  if (flags.size == 0) return;
  if (c.ticket() == kMtTicket)
    return draw_there(c, flags, [bound](KernelContext& late, const Tensor& to) { draw_flags(late, to, bound); });
  const float limit = std::ceil(std::clamp(bound, 0.0F, 1.0F) * 0x1p24F);
  const device::FlagArguments arguments{flags.data, flags.size, c.ticket(), static_cast<int64_t>(limit)};
  launch_cuda({kHeader, "draw_flags", "FlagArguments"}, grid_of(flags.size), arguments);
}

}  // namespace

void add_fill_cuda(KernelTable& table) {
  table.set_part(draw_variates, draw_variates_cuda);
  table.set_part(draw_flags, draw_flags_cuda);
  table.set_own_kernels({"_random_uniform", "_random_normal", "_np_uniform", "_np_normal", "_dropout_mask"});
}

}  // namespace headrace
