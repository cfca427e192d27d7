#include "headrace/gluon/block.hpp"

#include "base/check.h"
#include "gluon/graph.h"
#include "ndarray/serialize.h"
#include "op/trace.h"

namespace headrace::gluon {

NDArray Block::operator()(const NDArray& x) {
  check(static_cast<bool>(x), ErrorKind::kType, "Block: the data are none; give an array");
  if (!traces_ || is_abstract(x)) return forward(x);
  return traces_->graph_for(*this, x)->run({&x, 1})[0];
}

void Block::hybridize(bool active) {
  traces_ = active && !own_graph() ? std::make_shared<Traces>() : nullptr;
  for (const auto& [name, child] : children_) child->hybridize(active);
}

void Block::initialize(const init::Initializer& initializer, const std::vector<Device>& devices, bool force_reinit) {
  for (const auto& [name, parameter] : collect_params()) parameter->initialize(initializer, devices, force_reinit);
}

void Block::reset_ctx(const std::vector<Device>& devices) {
  for (const auto& [name, parameter] : collect_params()) parameter->reset_ctx(devices);
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
    saved.arrays.push_back(parameter->reduce());
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

void Block::export_to(const std::string& path, int epoch) const {
  const Graph* graph = own_graph();
  if (!graph && traces_) graph = traces_->newest();
  check(graph != nullptr, ErrorKind::kRuntime,
        "Please first call block.hybridize() and then run forward with this block at least once before calling "
        "export.");
  graph->write(path, epoch);
}

std::shared_ptr<Parameter> Block::add_parameter(std::string name, Shape shape, init::Initializer own_init,
                                                std::string grad_req) {
  return parameters_.emplace_back(
      std::make_shared<Parameter>(std::move(name), std::move(shape), std::move(own_init), std::move(grad_req)));
}

size_t Block::part_count() const noexcept {
  size_t count = parameters_.size() + children_.size();
  for (const auto& [name, child] : children_) count += child->part_count();
  return count;
}

}  // namespace headrace::gluon
