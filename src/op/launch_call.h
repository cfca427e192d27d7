// Launching an operation on the stream of an accelerator.
#pragma once

#include <cstdint>
#include <span>

#include "ndarray/view.h"
#include "op/attrs.h"

namespace headrace {

struct OpDef;

// Puts what computes the outputs on the stream of the work that is being launched: a kernel of the device's own; where
// it runs the host's code, the call itself; or the way over the host, where the device's table of kernels says so.
// Raises RuntimeError when there is no kernel.
void launch_call(const OpDef& op, const Attrs& attrs, std::span<View* const> inputs, std::span<View* const> outputs,
                 uint64_t ticket);

}  // namespace headrace
