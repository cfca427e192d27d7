// Variables of MXNet about stores that change nothing here, and what does instead.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace headrace::kvstore {

struct MxnetVariable {
  const char* name;
  const char* usual;    // MXNet's default, which asks for nothing
  const char* instead;  // what is done here, and how it is changed
};

std::span<const MxnetVariable> mxnet_variables();

// Of those that are set to something else than usual: "NAME=VALUE changes nothing: ...".
std::vector<std::string> texts_of_unheeded();

// Says them as warnings, once for a process; in a job for one of its processes.
void warn_of_unheeded();

}  // namespace headrace::kvstore
