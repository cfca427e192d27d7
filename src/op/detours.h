// Detours: operations that were computed in another way than their arrays ask for, because there was no code for it.
// The results are the same; time and memory are not. Counted by operator, and the first of each is said in the log. Any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/device.hpp"
#include "op/op_def.h"

namespace headrace {

// `how` names the detour: "computed on the host".
void count_detour(const OpDef& op, std::string_view how);
// The operators, by name, that a device of this type, which has code of its own for others, leaves to the host.
std::vector<std::string> operators_on_host(DeviceType type);
// How many there were since the process began, by "operator: how".
std::map<std::string, int64_t> detours();

}  // namespace headrace
