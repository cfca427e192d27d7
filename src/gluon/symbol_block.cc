#include "headrace/gluon/symbol_block.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "gluon/graph.h"
#include "ndarray/serialize.h"

namespace headrace::gluon {
namespace {

Symbol load_symbol(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  check(!file.fail(), ErrorKind::kRuntime, "symbol.load: Open \"{}\": {}", path, std::strerror(errno));
  return Symbol::from_json(text.str());
}

std::map<std::string, NDArray> load_values(const std::string& path) {
  NamedArrays loaded = load_arrays(path);
  std::map<std::string, NDArray> values;
  for (size_t i = 0; i < loaded.names.size(); ++i) {
    std::string name = loaded.names[i];
    if (name.starts_with("arg:") || name.starts_with("aux:")) name.erase(0, 4);
    values.emplace(std::move(name), std::move(loaded.arrays[i]));
  }
  return values;
}

// Up to ten quoted names.
std::string brief_names(const std::vector<std::string>& names) {
  constexpr size_t kEnd = 5;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names.size() > 2 * kEnd && i >= kEnd && i + kEnd < names.size()) {
      if (i == kEnd) text += ", ...";
      continue;
    }
    text += (text.empty() ? "'" : ", '") + names[i] + "'";
  }
  return text;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

SymbolBlock SymbolBlock::imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                                 const std::string& param_file) {
  const Symbol symbol = load_symbol(symbol_file);
  const std::vector<std::string> variables = symbol.list_inputs(), auxiliary = symbol.list_auxiliary_states();
  std::map<std::string, NDArray> values = load_values(param_file);
  std::vector<std::string> saved;
  for (const auto& [name, value] : values) saved.push_back(name);
  SymbolBlock block;
  for (const std::string& name : variables) {
    if (contains(input_names, name)) continue;
    auto found = values.extract(name);
    check(!found.empty() && found.mapped(), ErrorKind::kValue,
          "Parameter '{}' is missing in file: {}, which contains parameters: {}. If it is an input of the network, "
          "say so in input_names, which are: {}.",
          name, param_file, brief_names(saved), brief_names(input_names));
    const NDArray& value = found.mapped();
    const auto parameter =
        block.add_parameter(name, value.shape(), nullptr, contains(auxiliary, name) ? "null" : "write");
    parameter->cast(value.dtype());
    parameter->set_data(value);
  }
  for (const std::string& name : input_names)
    check(contains(variables, name), ErrorKind::kValue,
          "The {} is not used by the computation. Is this intended? The inputs of the graph are: {}.", name,
          brief_names(variables));
  if (!values.empty()) {
    std::vector<std::string> wanted;
    for (const auto& [name, parameter] : block.collect_params()) wanted.push_back(name);
    fail(ErrorKind::kValue,
         "Parameter '{}' loaded from file: {} is not present in ParameterDict, choices are: {}. Load the file that "
         "was written with this symbol.",
         values.begin()->first, param_file, brief_names(wanted));
  }
  block.graph_ = std::make_shared<const Graph>(symbol, input_names, block.collect_params());
  return block;
}

std::vector<NDArray> SymbolBlock::operator()(const std::vector<NDArray>& inputs) const {
  check(inputs.size() == graph_->input_count(), ErrorKind::kValue, "SymbolBlock: {} inputs are needed, got {}",
        graph_->input_count(), inputs.size());
  return graph_->run(inputs);
}

NDArray SymbolBlock::forward(const NDArray& x) {
  check(graph_->input_count() == 1 && graph_->output_count() == 1, ErrorKind::kValue,
        "SymbolBlock: the network has {} inputs and {} outputs; call it with a vector of arrays", graph_->input_count(),
        graph_->output_count());
  return graph_->run({&x, 1})[0];
}

}  // namespace headrace::gluon
