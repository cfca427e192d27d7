// Exchanges of arrays between the ranks of a group, as operations of the engine: they begin when the values are there,
// and overlap with computing. Arrays of other devices pass through host memory, or go from one to the other
// (gang_exchange.h). Any thread.
//
// `name` says which calls of the ranks belong together: those of one name are made in one order on all ranks, those of
// different names in any. Where the values of one rank could not be computed, the results have that error on all.
#pragma once

#include <string>
#include <vector>

#include "collective/fold.h"
#include "collective/group.h"
#include "headrace/ndarray.hpp"

namespace headrace::collective {

// The fold of the arrays of all ranks, in their order, in new memory of the device of `value`.
NDArray all_reduce(Group& group, const std::string& name, Fold fold, const NDArray& value);
// The part of it that belongs to this rank: entries of the first axis, as many for each. Raises ValueError when they
// cannot be divided.
NDArray reduce_scatter(Group& group, const std::string& name, Fold fold, const NDArray& value);
// The share that this rank has of the fold, in one dimension, where ranks share an array as Machines::shares() says.
NDArray reduce_share(Group& group, const std::string& name, Fold fold, const NDArray& value);
// An array of that shape whose ranks' shares these are. Raises ValueError when there are too many bytes for one call.
NDArray gather_shares(Group& group, const std::string& name, const NDArray& share, const Shape& shape);
// What rank `root` has, on the device of `value`. Raises ValueError when there is no such rank.
NDArray broadcast(Group& group, const std::string& name, const NDArray& value, int root);
// The arrays of all ranks, one after the other along the first axis, which alone may differ. Waits until all ranks have
// made the call, to know how long the result is.
NDArray all_gather(Group& group, const std::string& name, const NDArray& value);

// The same for bytes, which wait for the result.
std::vector<std::vector<std::byte>> gather_bytes(Group& group, const std::string& name, std::span<const std::byte> own);
std::vector<std::byte> broadcast_bytes(Group& group, const std::string& name, std::span<const std::byte> own, int root);
void barrier(Group& group);

}  // namespace headrace::collective
