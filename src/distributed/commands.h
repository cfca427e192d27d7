// Heads of the commands that stores send servers by themselves (docs/distributed.md, "Checkpoints"); programs have
// those above 0. Python's list of them is headrace/kvstore/commands.py.
#pragma once

namespace headrace::distributed {

inline constexpr int kSettings = -1;      // of the optimizer
inline constexpr int kFreeze = -4;        // other workers wait; answered by what they have been served
inline constexpr int kThaw = -5;          // they wait no more
inline constexpr int kWorkerStates = -6;  // answered by those that belong to what is stored
inline constexpr int kRestore = -7;       // of worker 0: the workers' states; other workers' pushes wait
inline constexpr int kRestored = -8;      // they wait no more
inline constexpr int kAskRestored = -9;   // answered by the states, when they have come
inline constexpr int kJoin = -10;         // about a key, after so many pushes: others have made more, or all are here

}  // namespace headrace::distributed
