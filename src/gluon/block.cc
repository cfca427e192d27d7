#include "headrace/gluon/block.hpp"

#include "base/check.h"
#include "ndarray/serialize.h"

namespace headrace::gluon {

NDArray Block::operator()(const NDArray& x) {
  check(static_cast<bool>(x), ErrorKind::kType, "Block: the data are none; give an array");
  return forward(x);
}

void Block::initialize(const init::Initializer& initializer, Device device) {
  for (const auto& [name, parameter] : collect_params()) parameter->initialize(initializer, device);
}

ParameterDict Block::collect_params() const {
  ParameterDict found;
  collect("", found);
  return found;
}

void Block::collect(const std::string& prefix, ParameterDict& found) const {
  for (const auto& parameter : parameters_) found.emplace(prefix + parameter->name(), parameter);
  for (const auto& [name, child] : children_) child->collect(prefix + name + ".", found);
}

void Block::save_parameters(const std::string& path) const {
  NamedArrays saved;
  for (const auto& [name, parameter] : collect_params()) {
    saved.names.push_back(name);
    saved.arrays.push_back(parameter->data());
  }
  save_arrays(path, saved.arrays, saved.names, false);
}

void Block::load_parameters(const std::string& path) {
  NamedArrays loaded = load_arrays(path);
  ParameterDict parameters = collect_params();
  check(loaded.names.size() == parameters.size(), ErrorKind::kValue,
        "load_parameters: {} has {} named arrays, but the network has {} parameters", path, loaded.names.size(),
        parameters.size());
  for (const std::string& name : loaded.names)
    check(parameters.contains(name), ErrorKind::kValue, "load_parameters: {} has '{}', which the network has not", path,
          name);
  for (size_t i = 0; i < loaded.names.size(); ++i) parameters[loaded.names[i]]->set_data(loaded.arrays[i]);
}

std::shared_ptr<Parameter> Block::add_parameter(std::string name, Shape shape, init::Initializer own_init) {
  return parameters_.emplace_back(std::make_shared<Parameter>(std::move(name), std::move(shape), std::move(own_init)));
}

}  // namespace headrace::gluon
