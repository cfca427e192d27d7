// UpdateSharing: what a communicator whose ranks share updates does for a store. Of a large array each rank reduces,
// updates and keeps the state of a share, and the ranks give each other the results. Belongs to its communicator.
#pragma once

#include <span>
#include <vector>

#include "headrace/communicator.hpp"

namespace headrace::kvstore {

class UpdateSharing {
 public:
  virtual ~UpdateSharing() = default;

  // How ranks share an array of that size and dtype, the same on all; none: it is not worth it, or cannot be.
  virtual std::vector<Share> shares(const NDArray& array) const = 0;
  // The share of this rank of the reduction of the `values` of all, in one dimension, on the device home(). Collective.
  virtual NDArray reduce_share(const Reduction& reduction, std::span<const NDArray> values, Device home) = 0;
  // An array of that shape of the shares of all ranks, on the device of this one's. Collective.
  virtual NDArray gather_shares(const NDArray& share, const Shape& shape) = 0;
};

}  // namespace headrace::kvstore
