// Heads of the commands by which stores tell servers something, or ask them (docs/distributed.md, "Checkpoints");
// programs have those above 0. Python has them from here, as _core.distributed.commands.
#pragma once

namespace headrace::distributed {

// Of what carries out commands, which runs a server in Python.
inline constexpr int kSetOptimizer = 0;  // from all; the first counts
inline constexpr int kSettings = -1;     // of the optimizer
inline constexpr int kGetStates = -2;    // answered by those of the optimizer
inline constexpr int kSetStates = -3;
inline constexpr int kRestoreStates = -15;  // the same, with the settings and other numbers of that optimizer
inline constexpr int kProfile = -14;        // of this process alone: its backup does not follow
inline constexpr int kGetScale = -16;       // answered by the number with which the optimizer multiplies gradients

// Of the server itself.
inline constexpr int kFreeze = -4;        // other workers wait; answered by what they have been served
inline constexpr int kThaw = -5;          // they wait no more
inline constexpr int kWorkerStates = -6;  // answered by those that belong to what is stored
inline constexpr int kRestore = -7;       // of worker 0: the workers' states; other workers' pushes wait
inline constexpr int kRestored = -8;      // they wait no more
inline constexpr int kAskRestored = -9;   // answered by the states, when they have come
inline constexpr int kJoin = -10;         // about a key, after so many pushes: others have made more, or all are here
inline constexpr int kGetSettings = -11;  // answered by the settings of the optimizer that count now, if any
inline constexpr int kHasRestored = -12;  // answered by whether worker 0 has brought back what there was: "1"
inline constexpr int kAwaited = -13;      // about a key, after so many pushes: answered by who has not made as many

struct NamedCommand {
  const char* name;
  int head;
};
inline constexpr NamedCommand kCommands[] = {
    {"SET_OPTIMIZER", kSetOptimizer},   {"SETTINGS", kSettings},  {"GET_STATES", kGetStates},
    {"SET_STATES", kSetStates},         {"FREEZE", kFreeze},      {"THAW", kThaw},
    {"WORKER_STATES", kWorkerStates},   {"RESTORE", kRestore},    {"RESTORED", kRestored},
    {"ASK_RESTORED", kAskRestored},     {"JOIN", kJoin},          {"GET_SETTINGS", kGetSettings},
    {"HAS_RESTORED", kHasRestored},     {"AWAITED", kAwaited},    {"PROFILE", kProfile},
    {"RESTORE_STATES", kRestoreStates}, {"GET_SCALE", kGetScale},
};

}  // namespace headrace::distributed
