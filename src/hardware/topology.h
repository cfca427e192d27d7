// Where the processors that the process may use sit, and work on chosen ones. Any thread may call any function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"

namespace headrace::hardware {

// What the system does not tell is taken for separate cores in one package with one memory.
struct Processor {
  int number;
  int core, package;  // processors that share both are threads of one core
  int memory_node;
};

inline constexpr const char* kProcessorFolder = "/sys/devices/system/cpu";

std::vector<int> allowed_processors();
std::vector<Processor> read_processors(std::span<const int> numbers, const std::string& folder = kProcessorFolder);

// Partners of the first processor; none when there is no such processor. Of another core in the same package, of
// another package, of another memory node.
std::optional<Processor> in_other_core(std::span<const Processor> processors);
std::optional<Processor> in_other_package(std::span<const Processor> processors);
std::optional<Processor> at_other_memory(std::span<const Processor> processors);

// Bytes of the data cache of this level that the system tells for a processor; 0 when it does not.
size_t told_cache_bytes(int processor, int level, const std::string& folder = kProcessorFolder);

// Calls body(i) for each i, in a thread of its own that stays on processors[i] where the system allows that; all
// bodies begin together. Waits for all; what a body throws is raised here.
void run_on(std::span<const int> processors, FunctionRef<void(size_t index)> body);

}  // namespace headrace::hardware
