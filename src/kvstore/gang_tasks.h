// What arrays on several devices have done with them by the library of the devices' vendor, as one operation of the
// engine. Any thread.
#pragma once

#include <span>

#include "device/gang.h"
#include "headrace/ndarray.hpp"

namespace headrace::kvstore {

// For such arrays, one on each of several devices; null: there is none, or it does not know their dtype.
Gang* find_gang(std::span<const NDArray> buffers);

// The buffers are packed arrays of one size and dtype for which the gang was found. `root`: a place among them, if the
// task has a root.
void run_gang(Gang& gang, GangTask::What what, std::span<const NDArray> buffers, size_t root = 0);

}  // namespace headrace::kvstore
