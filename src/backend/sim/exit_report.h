// The report that a program on the virtual clock leaves at its end.
#pragma once

namespace headrace {

// For a process whose environment asks for the virtual clock: from now on it prints, when it exits, the report of the
// clock that counts then to standard error, unless HEADRACE_REPORT is 0. Called once, before the runtime is made, so
// that everything has ended by then. A process that pushed nothing prints nothing, nor does a forked child.
void print_report_at_exit();

}  // namespace headrace
