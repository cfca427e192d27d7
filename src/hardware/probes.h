// What can be measured: one Row each, listed per subject by the file that measures it. probes() is all of them in
// the order of the table; whatever lists, selects or describes measurements is derived from it.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/workbench.h"
#include "headrace/hardware.hpp"

namespace headrace::hardware {

struct Figure {
  double value;
  std::string note = {};
};

// Thrown by a measurement that is not possible here; the text says why. Any other exception means the same.
struct NotMeasured : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Row {
  std::string_view name, what;
  Unit unit;
  std::vector<std::string_view> book;  // actions of book()
  Figure (*measure)(Workbench&);
};

std::vector<Row> cache_rows();        // caches.cc
std::vector<Row> core_rows();         // cores.cc
std::vector<Row> memory_rows();       // memory.cc
std::vector<Row> arithmetic_rows();   // arithmetic.cc
std::vector<Row> thread_rows();       // threads.cc
std::vector<Row> disk_rows();         // disk.cc
std::vector<Row> network_rows();      // network.cc
std::vector<Row> call_rows();         // calls.cc
std::vector<Row> accelerator_rows();  // accelerator.cc

struct Probe {
  Description description;
  Figure (*measure)(Workbench&);
};

std::span<const Probe> probes();
const Probe& find_probe(std::string_view name);  // raises ValueError

}  // namespace headrace::hardware
