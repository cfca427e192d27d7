// Simulated GPUs: any machine has as many as a program asks for. They have memory of their own, streams that run
// behind the host, and links between them; their kernels run on the cores of the host. docs/devices.md tells more.
#pragma once

#include <cstdint>
#include <string>

#include "headrace/device.hpp"

namespace headrace::sim {

enum class Clock : uint8_t {
  kReal,     // kernels take what the host needs for them, copies what their links need by the topology
  kVirtual,  // nothing waits for modelled time: a discrete-event clock says what the modelled machine would take
};

struct Options {
  int gpus = 0;               // 0: as many as the topology has, none without one
  std::string topology = {};  // preset or file, see docs/planner.md; empty: every GPU on one PCIe switch
  Clock clock = Clock::kReal;
  int64_t memory_bytes = 0;  // of each GPU; 0: 16 GiB
};

// Replaces what the environment said (HEADRACE_SIM_GPUS, HEADRACE_SIM_TOPOLOGY, HEADRACE_SIM_CLOCK,
// HEADRACE_SIM_MEMORY). Waits for all work first. Raises ValueError for impossible options, also fewer GPUs than hold
// arrays.
void configure(const Options& options);
Options options();

// The virtual clock. All raise RuntimeError with the real one.

// Seconds that the program has taken so far on the modelled machine, as the frontend knows: up to what it has waited
// for and what it has asked for since.
double now();
// The frontend works for so long on its own: reads files, prepares data.
void advance(double seconds);
// What ran how long, on which streams and links, what overlapped, and the critical path, as tables.
std::string report();

// Faults, for tests of what programs do when a device fails. Each one happens once, in work that begins later; all
// raise ValueError when there is no such simulated GPU.

// The copy after the next `after` ones to or from the GPU fails: the arrays it would have written carry the error.
void fail_copy(Device gpu, int after = 0);
// The next work of the GPU's compute stream begins `seconds` later: of the clock that counts, so with the virtual one
// nothing waits.
void stall(Device gpu, double seconds);
// The GPU disappears: nothing that runs there, or is to run there, succeeds any more.
void lose(Device gpu);
// The memory of the GPU becomes larger or smaller; 0: it has none.
void set_memory(Device gpu, int64_t bytes);
// Lost GPUs are back, and no fault is waiting. Their memory is what it was configured to be, and empty where the GPU
// was lost: what reads or writes an array that was there raises RuntimeError; make such arrays anew. Waits for all work
// first.
void repair();

}  // namespace headrace::sim
