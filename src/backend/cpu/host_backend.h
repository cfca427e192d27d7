// The host as a device. cpu, cpu_pinned and cpu_shared share one allocator; their device numbers are mere labels,
// as in MXNet, so cpu(3) is the same memory as cpu(0).
#pragma once

#include "device/backend.h"

namespace headrace {

Backend& host_backend();

}  // namespace headrace
