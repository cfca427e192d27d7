#include "headrace/gluon/symbol_block.hpp"

#include <algorithm>

#include "base/check.h"
#include "gluon/graph.h"
#include "gluon/saved_values.h"
#include "graph/infer.h"

namespace headrace::gluon {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> variable_names(const std::vector<Symbol>& inputs) {
  std::vector<std::string> names;
  for (const Symbol& input : inputs) {
    check(input.size() == 1 && input.internals().size() == 1, ErrorKind::kValue,
          "SymbolBlock: an input must be a variable, but '{}' is an output of operators", input.name());
    names.push_back(input.name());
  }
  return names;
}

}  // namespace

SymbolBlock SymbolBlock::imports(const std::string& symbol_file, const std::vector<std::string>& input_names,
                                 const std::string& param_file, bool allow_missing, bool ignore_extra) {
  const Symbol symbol = Symbol::load(symbol_file);
  const std::vector<std::string> variables = symbol.list_inputs();
  SavedValues values = load_values(param_file);
  for (const std::string& name : variables)
    check(allow_missing || contains(input_names, name) || values.contains(name), ErrorKind::kValue,
          "Parameter '{}' is missing in file: {}, which contains parameters: {}. If it is an input of the network, "
          "say so in input_names, which are: {}. Set allow_missing to go on without its values.",
          name, param_file, brief_names(values), brief_names(input_names));
  for (auto value = values.begin(); value != values.end();) {
    const std::string& name = value->first;
    const bool is_wanted = contains(variables, name) && !contains(input_names, name);
    check(is_wanted || ignore_extra, ErrorKind::kValue,
          "Parameter '{}' loaded from file: {} is not present in ParameterDict, choices are: {}. Load the file that "
          "was written with this symbol, or set ignore_extra.",
          name, param_file, brief_names(variables));
    value = is_wanted ? std::next(value) : values.erase(value);
  }
  return {symbol, input_names, values};
}

SymbolBlock::SymbolBlock(const Symbol& outputs, const std::vector<Symbol>& inputs,
                         const std::map<std::string, NDArray>& parameters)
    : SymbolBlock(outputs, variable_names(inputs), parameters) {}

SymbolBlock::SymbolBlock(const Symbol& outputs, const std::vector<std::string>& input_names,
                         const std::map<std::string, NDArray>& values)
    : input_names_(input_names) {
  check(static_cast<bool>(outputs), ErrorKind::kType, "SymbolBlock: the symbol of the outputs is empty; give one");
  const std::vector<std::string> variables = outputs.list_inputs(), auxiliary = outputs.list_auxiliary_states();
  for (const std::string& name : input_names)
    check(contains(variables, name), ErrorKind::kValue,
          "The {} is not used by the computation. Is this intended? The inputs of the graph are: {}.", name,
          brief_names(variables));
  for (const auto& [name, value] : values)
    check(value && contains(variables, name) && !contains(input_names, name), ErrorKind::kValue,
          "SymbolBlock: values are given for '{}', which is no parameter or has none; the inputs of the graph are: {}",
          name, brief_names(variables));
  std::vector<std::string> missing;
  for (const std::string& name : variables) {
    if (contains(input_names, name)) continue;
    const auto found = values.find(name);
    if (found == values.end()) {
      missing.push_back(name);
      continue;
    }
    const NDArray& value = found->second;
    const auto parameter = add_parameter(name, value.shape(), nullptr, contains(auxiliary, name) ? "null" : "write");
    parameter->cast(value.dtype());
    parameter->set_data(value);
  }
  add_missing(outputs, missing);
  graph_ = std::make_shared<const Graph>(outputs, input_names, collect_params());
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
  check_present();
  check(inputs.size() == graph_->input_count(), ErrorKind::kValue, "SymbolBlock: {} inputs are needed, got {}",
        graph_->input_count(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    check(static_cast<bool>(inputs[i]), ErrorKind::kType, "SymbolBlock: input '{}' is none; give an array",
          input_names_[i]);
  if (has_missing_) complete_shapes(inputs);
  return graph_->run(inputs);
}

NDArray SymbolBlock::forward(const NDArray& x) {
  check_present();
  check(graph_->input_count() == 1 && graph_->output_count() == 1, ErrorKind::kValue,
        "SymbolBlock: the network has {} inputs and {} outputs; call it with a vector of arrays", graph_->input_count(),
        graph_->output_count());
  if (has_missing_) complete_shapes({x});
  return graph_->run({&x, 1})[0];
}

}  // namespace headrace::gluon
