// Backlog fusion: queued pointwise calls, each of which waits for earlier ones alone, run as one pass over memory. What
// was computed for the next call alone, and no handle can see any more, is never written. docs/engine.md tells more.
#pragma once

#include "engine/engine.h"

namespace headrace {

// How CallBody bodies run together.
extern const GroupType kCallGroup;

}  // namespace headrace
