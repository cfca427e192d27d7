// Sums between processes without servers, for stores (src/collective/).
#pragma once

#include <memory>

#include "headrace/communicator.hpp"

namespace headrace::collective {
class Group;
}

namespace headrace::kvstore {

// Between the ranks of a group, which outlives it; `devices` reduces within a process. Made in one order on all ranks.
std::unique_ptr<Communicator> make_collective_communicator(collective::Group& group,
                                                           std::unique_ptr<Communicator> devices,
                                                           bool shares_updates = false);

}  // namespace headrace::kvstore
