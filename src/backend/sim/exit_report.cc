#include "backend/sim/exit_report.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "backend/sim/sim_machine.h"
#include "base/config.h"

namespace headrace {
namespace {

pid_t owner = 0;

void print_report() {
  if (getpid() != owner) return;
  sim::VirtualMachine* const clock = sim_machine().virtual_machine();
  if (!clock) {
    if (sim_machine().device_count() == 0)
      std::fputs(
          "HEADRACE_SIM_CLOCK=virtual: there were no simulated GPUs, so there is no virtual time. Set "
          "HEADRACE_SIM_GPUS=4, for example.\n",
          stderr);
    return;
  }
  clock->waited_all();
  const sim::VirtualReport report = clock->report();
  if (report.ended > 0) std::fprintf(stderr, "\n%s", report.text().c_str());
}

}  // namespace

void print_report_at_exit() {
  if (!config().sim_report) return;
  owner = getpid();
  std::atexit(print_report);
}

}  // namespace headrace
