#include "base/check.h"
#include "headrace/communicator.hpp"

namespace headrace::kvstore {

std::vector<NDArray> Communicator::gather_rows(const NDArray& rows) {
  check(size() == 1, ErrorKind::kRuntime,
        "kvstore: the ranks of this store exchange dense arrays alone; tostype('default') gives one");
  return {rows};
}

HierarchicalCommunicator::HierarchicalCommunicator(std::unique_ptr<Communicator> devices)
    : devices_(std::move(devices)) {
  check(devices_ != nullptr, ErrorKind::kValue,
        "HierarchicalCommunicator: expected a communicator for the devices of this process, got none; give "
        "make_host_communicator() or make_device_communicator()");
}

Device HierarchicalCommunicator::home(std::span<const NDArray> values, Device stored) const {
  return devices_->home(values, stored);
}

bool HierarchicalCommunicator::compresses() const noexcept { return devices_->compresses(); }

void HierarchicalCommunicator::reduce_here(const Reduction& undivided, std::span<const NDArray> values,
                                           const NDArray& result) {
  devices_->reduce(undivided, values, result);
}

size_t HierarchicalCommunicator::count_of(const Reduction& reduction, size_t own) {
  if (!reduction.divides()) return own;
  const float count = static_cast<float>(own);
  const NDArray total = NDArray::from(std::span(&count, 1), {1});
  allreduce(Reduction("sum"), total);
  return static_cast<size_t>(total.item());
}

void HierarchicalCommunicator::reduce(const Reduction& reduction, std::span<const NDArray> values,
                                      const NDArray& result) {
  if (size() == 1) return devices_->reduce(reduction, values, result);
  const size_t count = count_of(reduction, values.size());
  const Reduction undivided = reduction.undivided();
  reduce_here(undivided, values, result);
  allreduce(undivided, result);
  reduction.finish(result, count);
}

void HierarchicalCommunicator::broadcast(const NDArray& source, std::span<const NDArray> results, Extent extent,
                                         bool keeps) {
  devices_->broadcast(source, results, extent, keeps);
}

void HierarchicalCommunicator::reduce_and_broadcast(const Reduction& reduction, std::span<const NDArray> values,
                                                    std::span<const NDArray> results, const NDArray& stored,
                                                    Extent extent) {
  if (size() == 1) return devices_->reduce_and_broadcast(reduction, values, results, stored, extent);
  reduce(reduction, values, stored);
  devices_->broadcast(stored, results, extent);
}

}  // namespace headrace::kvstore
