// Copies between devices, as tasks of the streams that are there for them. Any thread.
#pragma once

#include "headrace/ndarray.hpp"
#include "ndarray/view.h"

namespace headrace {

// Copies the elements of `from`, on one device, to `to`, on another one, both of one dtype, shape and dense strides;
// one of the devices is an accelerator. Raises what is wrong with the devices.
// `urgency` and `keeps` are those of TaskSpec.
void push_device_copy(const ViewPtr& to, const ViewPtr& from, int urgency = 0, bool keeps = false);

// What the task of such a copy does: the bytes, on the stream that runs it, or between places of the host where none
// does. In a task that holds access to both storages.
void copy_elements(const View& to, const View& from);

}  // namespace headrace
