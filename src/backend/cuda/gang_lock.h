// One lock of the process for what several GPUs do together. A gang's work is put on all its devices while it is held,
// so that all devices have it in the same order as the work of other gangs. Until it is on all of them those that have
// it wait for the others, and calls of the driver that wait for a device would wait for ever: so such calls, which take
// memory from the driver or give it back, or load code, are made while it is held, too.
#pragma once

#include <mutex>

namespace headrace {

// Lives as long as the process. Taken behind the locks of allocators and of kernels; behind it those of the watch of
// gangs and of devices are.
std::mutex& gang_lock() noexcept;

}  // namespace headrace
