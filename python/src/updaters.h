// Updaters of stores that are written in Python.
#pragma once

#include <nanobind/nanobind.h>

#include "headrace/kvstore.hpp"

namespace headrace::python {

// A number, or bytes.
nanobind::object python_key(const kvstore::Key& key);

// Calls function(keys, reduced, stored) with lists, under the GIL, which it takes; None: no updater. Any thread may
// copy the updater and let go of it.
kvstore::Updater updater_of(nanobind::object function);

}  // namespace headrace::python
