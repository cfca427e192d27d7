// Loops of microseconds, shared with threads that are at leisure. To wake a thread would cost more than such a loop
// takes, but a thread of the engine that finds nothing to do spins before it sleeps, and looks here meanwhile.
// Any thread may call any function.
#pragma once

#include <cstdint>

#include "base/function_ref.h"

namespace headrace {

// Calls body(0) to body(pieces - 1), once each, in this thread and in those that join; returns when all are over.
// Threads on even cores go up from the first piece, those on odd cores down from the last one, so that in a row of
// loops over the same arrays each core finds its part in its own cache, whoever shares and whoever joins. What a body
// throws is raised here after all running ones have ended, and pieces that had not begun by then are left out.
void share_loop(int32_t pieces, FunctionRef<void(int64_t piece)> body);

// Runs pieces of the loops that other threads share now; false: there were none.
bool join_shared_loops() noexcept;

// Loop after loop nobody has joined: a thread may be woken for those to come. Says so rarely, and more rarely
// each time that nobody joins afterwards.
bool shared_loops_lack_threads() noexcept;

// In a forked child: the loops that other threads shared are gone with them, as is who had joined this thread's own.
void forget_shared_loops() noexcept;

}  // namespace headrace
