#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/nn/outputs.cuh"
#include "ops/nn/outputs.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/nn/outputs.cuh";
constexpr int64_t kThreads = 256;       // as in op/device/group.cuh
constexpr int64_t kLabelsOfThread = 8;  // where there are that many

void labelled_cuda(KernelContext& c, const AxisSpace& space, const LabelledSoftmax& loss) {
  const Tensor &y = c.input(0), &labels = c.input(1), &dx = c.output(0);
  if (dx.size == 0) return;
  double* counted = nullptr;
  const int64_t parts = std::clamp<int64_t>(labels.size / (kThreads * kLabelsOfThread), 1, kThreads);
  if (loss.divides_by_labels) {
    counted = c.workspace<double>(static_cast<size_t>(parts));
    const device::CountArguments arguments{labels.data, counted, labels.size, loss.ignored};
    launch_cuda({kHeader, fmt::format("count_labels<{}>", element_name(labels.dtype)), "CountArguments"},
                {parts, static_cast<unsigned>(kThreads)}, arguments);
  }
  const device::LabelledArguments arguments{y.data,      labels.data,    counted,      dx.data,
                                            space.outer, space.length,   space.inner,  parts,
                                            loss.scale,  loss.smoothing, loss.ignored, loss.ignores};
  launch_cuda({kHeader,
               fmt::format("labelled_gradient<{}, {}, {}>", compute_name(y.dtype), element_name(y.dtype),
                           element_name(labels.dtype)),
               "LabelledArguments"},
              grid_of(dx.size), arguments);
}

void hinge_cuda(KernelContext& c, const AxisSpace& space, const HingeLoss& loss) {
  const Tensor &x = c.input(0), &labels = c.input(1), &dx = c.output(0);
  if (dx.size == 0) return;
  const device::HingeArguments arguments{x.data,      labels.data,    dx.data,     space.outer, space.length,
                                         space.inner, loss.is_linear, loss.margin, loss.factor};
  launch_cuda({kHeader,
               fmt::format("hinge_gradient<{}, {}, {}>", compute_name(x.dtype), element_name(x.dtype),
                           element_name(labels.dtype)),
               "HingeArguments"},
              grid_of(dx.size), arguments);
}

}  // namespace

void add_outputs_cuda(KernelTable& table) {
  table.set_part(labelled_softmax_gradient, labelled_cuda);
  table.set_part(hinge_gradient, hinge_cuda);
  table.set_own_kernels({"_backward_SoftmaxOutput", "_backward_SVMOutput"});
}

}  // namespace headrace
