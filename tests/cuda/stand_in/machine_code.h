// Machine code of a GPU, which the stand-in cannot run: the ELF files that NVRTC and ptxas make.
#pragma once

#include <map>
#include <string>

namespace stand_in {

// What a kernel takes of a multiprocessor.
struct Resources {
  unsigned registers = 0;     // of a thread
  unsigned stack_bytes = 0;   // of a thread: arrays that have no registers, and registers that there are not
  unsigned shared_bytes = 0;  // of a block, besides those that a launch asks for
};

bool is_machine_code(const void* image);
// Of each kernel of machine code, by name.
std::map<std::string, Resources> resources_of(const void* machine_code);

}  // namespace stand_in
