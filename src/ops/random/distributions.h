// The distributions by name, with what their parameters must be.
#pragma once

#include <string_view>

#include "ops/random/samplers.h"

namespace headrace {

struct DistributionInfo {
  Distribution kind;
  std::string_view name;
  size_t parameters;
  const char* condition;  // what the parameters must be, for error texts; empty: any
};

// The description of a name; raises ValueError for an unknown one.
const DistributionInfo& distribution_named(std::string_view name);
// Raises ValueError unless has_parameters().
void check_parameters(const DistributionInfo& distribution, const double* p, bool as_np);

}  // namespace headrace
