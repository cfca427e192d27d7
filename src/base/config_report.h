// HEADRACE_REPORT, a row of the table in config.cc.
#pragma once

namespace headrace {

// Whether a program on the virtual clock prints its report when it exits.
bool report_at_exit();

}  // namespace headrace
