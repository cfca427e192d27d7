// Helpers for writing OpDef::spelling.
#pragma once

#include <optional>
#include <string>

#include "op/op_def.h"

namespace headrace {

// The value, or None, which is written too.
template <class T>
AttrValue or_none(const std::optional<T>& value) {
  return value ? AttrValue(*value) : AttrValue(std::monostate{});
}

// `call` with the dtype and the device of the result, where they were given.
Spelling placed(Spelling call, const std::optional<DType>& dtype, const std::optional<std::string>& ctx = {});

}  // namespace headrace
