// What communicators within one process share (headrace/communicator.hpp). Any thread.
#pragma once

#include "headrace/communicator.hpp"

namespace headrace::kvstore {

// The only rank.
class LocalCommunicator : public Communicator {
 public:
  int rank() const noexcept final { return 0; }
  int size() const noexcept final { return 1; }
  void barrier() final {}
  void broadcast_root(const NDArray&) final {}
};

// Combines values on one device into `result` there, without finishing the reduction. `result` may be the first value,
// and shares memory with no other.
void combine(const Reduction& reduction, std::span<const NDArray> values, const NDArray& result);

bool is_on_host(std::span<const NDArray> arrays) noexcept;

}  // namespace headrace::kvstore
