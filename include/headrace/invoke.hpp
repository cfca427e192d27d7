// Calls an operator of the catalogue by its registered name. The functions of headrace/operators.hpp are made of this.
// Any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/attr_value.hpp"
#include "headrace/ndarray.hpp"

namespace headrace {

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

// The same with results that share no memory with inputs, as those of headrace::nd, which may be written.
std::vector<NDArray> invoke_apart(std::string_view operation, std::span<const NDArray> inputs,
                                  std::span<const Option> options);
inline std::vector<NDArray> invoke_apart(std::string_view operation, std::initializer_list<NDArray> inputs,
                                         std::initializer_list<Option> options = {}) {
  return invoke_apart(operation, std::span(inputs.begin(), inputs.size()), std::span(options.begin(), options.size()));
}

}  // namespace headrace
