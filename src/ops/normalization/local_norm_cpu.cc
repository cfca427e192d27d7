#include <algorithm>

#include "ops/normalization/local_norm.h"
#include "ops/reduce/rows.h"

namespace headrace {
namespace {

template <class T>
void window_sums(KernelContext& c, int64_t beside, ComputeType type) {
  const AxisSpace space = AxisSpace::along(c.input(0).shape, 1);
  for_each_row(space, {&c.input(0), 1}, {&c.output(0), 1}, type, static_cast<double>(c.output(0).size) * 2,
               [&](const RowCall& row) {
                 const T* x = row.in<T>(0);
                 for (int64_t i = 0; i < space.length; ++i) {
                   const int64_t end = std::min(space.length, i + beside + 1);
                   T sum = 0;
                   for (int64_t k = std::max<int64_t>(0, i - beside); k < end; ++k) sum += x[k];
                   row.out<T>()[i] = sum;
                 }
               });
}

void sum_on_host(KernelContext& c, int64_t beside) {
  if (c.input(0).dtype == DType::kFloat64)
    window_sums<double>(c, beside, ComputeType::kFloat64);
  else
    window_sums<float>(c, beside, ComputeType::kFloat32);
}

}  // namespace

const decltype(sum_channel_windows) sum_channel_windows{"sum_channel_windows", sum_on_host};

}  // namespace headrace
