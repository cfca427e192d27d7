// AttrValue: what one attribute of an operator may be given as. A plain value; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headrace/dtype.hpp"
#include "headrace/shape.hpp"

namespace headrace {

// begin/end/step of a slice: a missing entry means "to the edge".
using OptionalInts = std::vector<std::optional<int64_t>>;
using Doubles = std::vector<double>;

// monostate is Python's None. An attribute of any type also takes its text form, "(2, 2)" for example.
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Shape, OptionalInts, Doubles>;

}  // namespace headrace
