#include <algorithm>

#include "kvstore/host_reduce.h"
#include "kvstore/local_communicator.h"
#include "kvstore/reduction.h"
#include "op/call_body.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::kvstore {

bool is_on_host(std::span<const NDArray> arrays) noexcept {
  return std::ranges::all_of(arrays, [](const NDArray& array) { return array.device().is_host(); });
}

void combine(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result) {
  if (!reduction.named() && values.size() > 1) {  // a program's function may throw: `result` is written in the end
    const NDArray total = NDArray::empty(result.shape(), result.dtype(), result.device());
    copy_into(total, values[0]);
    for (const NDArray& value : values.subspan(1)) reduction.combine_into(total, value);
    return copy_into(result, total);
  }
  if (!same_elements(*values[0].view(), *result.view())) copy_into(result, values[0]);
  for (const NDArray& value : values.subspan(1)) reduction.combine_into(result, value);
}

namespace {

class HostCommunicator final : public LocalCommunicator {
 public:
  Device home(std::span<const NDArray>, Device) const override { return {}; }
  bool compresses() const noexcept override { return false; }

  void reduce(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result) override {
    std::vector<NDArray> here;
    for (const NDArray& value : values) {
      here.push_back(value);
      if (value.device().is_host()) continue;
      here.back() = NDArray::empty(value.shape(), value.dtype());
      copy_into(here.back(), value);
    }
    if (formula_of(reduction, 1)) return reduce_on_host(reduction, here, {&result, 1}, {}, Extent::kInCache);
    combine(reduction, here, result);
    reduction.finish(result, here.size());
  }

  void broadcast(const NDArray& source, std::span<const NDArray> results, Extent extent, bool keeps) override {
    const KeepScope keep(keeps);
    std::vector<NDArray> here;
    for (const NDArray& result : results) {
      if (result.device().is_host())
        here.push_back(result);
      else
        copy_into(result, source);
    }
    if (!here.empty()) reduce_on_host(Reduction(), {&source, 1}, here, {}, extent);
  }

  void reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                            std::span<const NDArray> results, const NDArray& stored, Extent extent) override {
    if (!formula_of(reduction, 1) || !is_on_host(values) || !is_on_host(results)) {
      reduce(reduction, values, stored);
      broadcast(stored, results, extent, false);
      return;
    }
    reduce_on_host(reduction, values, results, stored, extent);
  }
};

}  // namespace

std::unique_ptr<Communicator> make_host_communicator() { return std::make_unique<HostCommunicator>(); }

}  // namespace headrace::kvstore
