// Values of parameters as files have them, by name.
#pragma once

#include <map>
#include <string>

#include "ndarray/serialize.h"

namespace headrace::gluon {

using SavedValues = std::map<std::string, NDArray>;

// Without the "arg:" and "aux:" that files of symbols put before names.
inline SavedValues load_values(const std::string& path) {
  NamedArrays loaded = load_arrays(path);
  SavedValues values;
  for (size_t i = 0; i < loaded.names.size(); ++i) {
    std::string name = loaded.names[i];
    if (name.starts_with("arg:") || name.starts_with("aux:")) name.erase(0, 4);
    values.emplace(std::move(name), std::move(loaded.arrays[i]));
  }
  return values;
}

inline const std::string& name_of(const std::string& name) noexcept { return name; }
template <class T>
const std::string& name_of(const std::pair<const std::string, T>& entry) noexcept {
  return entry.first;
}

// Up to ten quoted names, of a list or of the keys of a map.
template <class Names>
std::string brief_names(const Names& names) {
  constexpr size_t kEnd = 5;
  std::string text;
  size_t i = 0;
  for (const auto& entry : names) {
    if (names.size() <= 2 * kEnd || i < kEnd || i + kEnd >= names.size())
      text += (text.empty() ? "'" : ", '") + name_of(entry) + "'";
    else if (i == kEnd)
      text += ", ...";
    ++i;
  }
  return text;
}

}  // namespace headrace::gluon
