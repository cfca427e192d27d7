// Calls an operator of the catalogue by its registered name. The functions of headrace/operators.hpp are made of this.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/ndarray.hpp"

namespace headrace {

// begin/end/step of a slice: a missing entry means "to the edge".
using OptionalInts = std::vector<std::optional<int64_t>>;
using Doubles = std::vector<double>;

// What one attribute may be given as; monostate is Python's None. Attributes also take their text form ("(2, 2)").
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Shape, OptionalInts, Doubles>;

// One attribute of a call, by name.
struct Option {
  Option(const char* option_name, AttrValue option_value) : name(option_name), value(std::move(option_value)) {}
  template <class T>
  Option(const char* option_name, const std::optional<T>& option_value)
      : name(option_name), value(option_value ? AttrValue(*option_value) : AttrValue()) {}

  const char* name;
  AttrValue value;
};

// All results of the operator. Trailing inputs that are none count as not given. Raises KeyError for an unknown
// operator, TypeError for an unknown or missing option or input, and what the operator raises; what goes wrong while it
// runs is raised where its results are read.
std::vector<NDArray> invoke(std::string_view operation, std::span<const NDArray> inputs,
                            std::span<const Option> options);
inline std::vector<NDArray> invoke(std::string_view operation, std::initializer_list<NDArray> inputs,
                                   std::initializer_list<Option> options = {}) {
  return invoke(operation, std::span(inputs.begin(), inputs.size()), std::span(options.begin(), options.size()));
}

}  // namespace headrace
