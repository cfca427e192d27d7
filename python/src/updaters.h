// Updaters of stores that are written in Python.
#pragma once

#include <nanobind/nanobind.h>

#include "headrace/kvstore.hpp"

namespace headrace::python {

// A number, or bytes.
nanobind::object python_key(const kvstore::Key& key);

// Calls function(keys, reduced, stored) with lists, under the GIL, which the caller holds; None: no updater.
kvstore::Updater updater_of(nanobind::object function);

}  // namespace headrace::python
