// Exchanges of arrays that lie on accelerators, which the library of their vendor carries out where all ranks have such
// arrays and their accelerators are connected; elsewhere they pass through the memory of the host. Any thread.
#pragma once

#include <string>

#include "collective/group.h"
#include "headrace/ndarray.hpp"

namespace headrace::collective {

// What may carry out a call with the array, whose elements are sent as this dtype; null: the host.
RankGang* gang_of(Group& group, const NDArray& value, DType dtype);

// What `value` has, row by row, in new memory of the accelerator.
NDArray block_of(RankGang& gang, const NDArray& value, DType dtype);
// The other way: in new memory of the device, unless it is there already.
NDArray from_block(const NDArray& block, DType dtype, Device device);

// Makes the call with the block, which nobody else knows and which gets what `work` says, in place: of a fold in parts
// and of what is gathered the parts of all ranks have their places in it. `dtype` is that of the call, as which
// elements pass through the memory of the host.
void exchange_block(Group& group, RankGang& gang, const std::string& name, std::string call, const NDArray& block,
                    DType dtype, Work work);

}  // namespace headrace::collective
