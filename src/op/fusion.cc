#include "op/fusion.h"

#include <algorithm>

#include "op/formula/run.h"
#include "op/kernel.h"
#include "op/pointwise.h"

namespace headrace {

size_t Fusion::Epilogue::further() const noexcept {
  return static_cast<size_t>(*std::max_element(inputs.begin(), inputs.end()) + 1);
}

void Fusion::Epilogue::run(KernelContext& c, const void* result, DType stored, size_t first) const {
  static constexpr int64_t kOnce = 0, kEach = 1;
  SmallVector<Operand, 8> reads, writes;
  for (int i : inputs) {
    if (i == kResult) {
      reads.push_back({const_cast<void*>(result), stored, &kEach});
    } else {
      const Tensor& array = c.input(first + static_cast<size_t>(i));
      reads.push_back({array.data, array.dtype, array.size == 1 ? &kOnce : &kEach});
    }
  }
  for (size_t k = 0; k < c.output_count(); ++k) writes.push_back({c.output(k).data, c.output(k).dtype, &kEach});
  headrace::run(formula->program(type), Shape{c.output(0).size}, {reads.data(), reads.size()},
                {writes.data(), writes.size()}, parameters);
}

}  // namespace headrace
