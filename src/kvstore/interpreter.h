// Carries out a plan on host memory, one step at a time: the reference for whatever executes plans on devices.
#pragma once

#include <span>
#include <vector>

#include "kvstore/communication_plan.h"

namespace headrace::kvstore {

// Slot 0 of every device before the plan, and after it; indexed by device of the topology. Empty: holds nothing.
using HostBuffers = std::vector<std::vector<float>>;

// Runs the steps in the given order, or in the plan's order if none is given. Raises ValueError for buffers of a wrong
// size or an order that is none, and MXNetError when a step reads what has not been written or comes before a step that
// it needs: then the plan or the order is wrong.
HostBuffers interpret(const CommunicationPlan& plan, HostBuffers buffers, std::span<const int> order = {});

}  // namespace headrace::kvstore
