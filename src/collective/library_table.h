// What the libraries give that a process loads when it first takes part in something with others.
#pragma once

#include "base/check.h"
#include "base/own_library.h"

namespace headrace::collective {

// The table that the function found in `file` gives. Raises OSError where it was built from other sources than this
// library: its table has another `interface`.
template <class Table>
const Table& table_of(const OwnLibrary& loaded, const char* file) {
  const Table& table = *reinterpret_cast<const Table* (*)()>(loaded.symbol)();
  check(table.interface == Table().interface, ErrorKind::kOs,
        "distributed: {} was built from other sources than this library; build both together", file);
  return table;
}

}  // namespace headrace::collective
