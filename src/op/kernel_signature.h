// What a kernel of a program's own takes, as its signature says.
#pragma once

#include <string_view>
#include <vector>

#include "headrace/dtype.hpp"

namespace headrace {

struct KernelParameter {
  DType dtype;
  bool is_array = false;
  bool is_const = false;
};

// Of "const float *x, int n", or without the names; empty: none. Raises Error(kValue) for a parameter of another form,
// Error(kType) for a type that no array has.
std::vector<KernelParameter> parse_kernel_signature(std::string_view signature);

}  // namespace headrace
