#include "headrace/gluon/symbol_block.hpp"

#include <algorithm>

#include "base/check.h"
#include "base/text_file.h"
#include "gluon/graph.h"
#include "graph/infer.h"
#include "ndarray/serialize.h"

namespace headrace::gluon {
namespace {

Symbol load_symbol(const std::string& path) {
  constexpr size_t kMostBytes = size_t{256} << 20;
  std::string text;
  try {
    text = read_text_file(path, kMostBytes);
  } catch (const Error& error) {
    fail(ErrorKind::kRuntime, "symbol.load: Open \"{}\": {}", path, error.what());
  }
  return Symbol::from_json(text);
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
                                 const std::string& param_file, bool allow_missing, bool ignore_extra) {
  const Symbol symbol = load_symbol(symbol_file);
  const std::vector<std::string> variables = symbol.list_inputs(), auxiliary = symbol.list_auxiliary_states();
  std::map<std::string, NDArray> values = load_values(param_file);
  std::vector<std::string> saved;
  for (const auto& [name, value] : values) saved.push_back(name);
  SymbolBlock block;
  block.input_names_ = input_names;
  std::vector<std::string> missing;
  for (const std::string& name : variables) {
    if (contains(input_names, name)) continue;
    auto found = values.extract(name);
    const bool is_there = !found.empty() && found.mapped();
    check(is_there || allow_missing, ErrorKind::kValue,
          "Parameter '{}' is missing in file: {}, which contains parameters: {}. If it is an input of the network, "
          "say so in input_names, which are: {}. Set allow_missing to go on without its values.",
          name, param_file, brief_names(saved), brief_names(input_names));
    if (!is_there) {
      missing.push_back(name);
      continue;
    }
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
  block.add_missing(symbol, missing);
  if (!values.empty() && !ignore_extra) {
    std::vector<std::string> wanted;
    for (const auto& [name, parameter] : block.collect_params()) wanted.push_back(name);
    fail(ErrorKind::kValue,
         "Parameter '{}' loaded from file: {} is not present in ParameterDict, choices are: {}. Load the file that "
         "was written with this symbol, or set ignore_extra.",
         values.begin()->first, param_file, brief_names(wanted));
  }
  block.graph_ = std::make_shared<const Graph>(symbol, input_names, block.collect_params());
  return block;
}

void SymbolBlock::add_missing(const Symbol& symbol, const std::vector<std::string>& names) {
  if (names.empty()) return;
  has_missing_ = true;
  KnownTypes known;
  for (const auto& [name, parameter] : collect_params()) known.shapes.emplace(name, parameter->shape());
  const InferredTypes types = infer_types(symbol, known);
  const std::vector<std::string> variables = symbol.list_inputs(), auxiliary = symbol.list_auxiliary_states();
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!contains(names, variables[i])) continue;
    check(types.inputs[i].shape.has_value(), ErrorKind::kValue,
          "Parameter '{}' has no values in the file, and its number of dimensions does not follow from the other "
          "parameters; give the file its values",
          variables[i]);
    Shape shape = *types.inputs[i].shape;
    std::ranges::replace(shape, int64_t{-1}, int64_t{0});
    add_parameter(variables[i], shape, nullptr, contains(auxiliary, variables[i]) ? "null" : "write");
  }
}

void SymbolBlock::complete_shapes(const std::vector<NDArray>& inputs) const {
  KnownTypes known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    known.shapes.emplace(input_names_[i], inputs[i].shape());
    known.dtypes.emplace(input_names_[i], inputs[i].dtype());
  }
  const ParameterDict parameters = collect_params();
  const auto is_unknown = [](const auto& entry) { return std::ranges::count(entry.second->shape(), 0) > 0; };
  if (std::ranges::none_of(parameters, is_unknown)) return;
  for (const auto& [name, parameter] : parameters) {
    Shape shape = parameter->shape();
    std::ranges::replace(shape, int64_t{0}, int64_t{-1});
    known.shapes.emplace(name, shape);
  }
  const InferredTypes types = infer_types(graph_->symbol(), known);
  const std::vector<std::string> variables = graph_->symbol().list_inputs();
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto found = parameters.find(variables[i]);
    const std::optional<Shape>& shape = types.inputs[i].shape;
    if (found != parameters.end() && shape && std::ranges::count(*shape, -1) == 0)
      found->second->complete_shape(*shape);
  }
}

std::vector<NDArray> SymbolBlock::operator()(const std::vector<NDArray>& inputs) const {
  check(inputs.size() == graph_->input_count(), ErrorKind::kValue, "SymbolBlock: {} inputs are needed, got {}",
        graph_->input_count(), inputs.size());
  if (has_missing_) complete_shapes(inputs);
  return graph_->run(inputs);
}

NDArray SymbolBlock::forward(const NDArray& x) {
  check(graph_->input_count() == 1 && graph_->output_count() == 1, ErrorKind::kValue,
        "SymbolBlock: the network has {} inputs and {} outputs; call it with a vector of arrays", graph_->input_count(),
        graph_->output_count());
  if (has_missing_) complete_shapes({x});
  return graph_->run({&x, 1})[0];
}

}  // namespace headrace::gluon
