#include "headrace/gluon/block.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "gluon/graph.h"
#include "gluon/rollback.h"
#include "gluon/saved_values.h"
#include "ndarray/serialize.h"
#include "op/invoke.h"
#include "op/trace.h"

namespace headrace::gluon {
namespace {

// What `change` does to all parameters, or none of it.
template <class F>
void change_all(const auto& parameters, F&& change) {
  std::vector<Parameter*> changed;
  for (const auto& [name, parameter] : parameters) changed.push_back(parameter.get());
  Rollback rollback(changed);
  for (Parameter* parameter : changed) change(*parameter);
  rollback.keep();
}

bool fits(const Shape& shape, const Shape& saved) {
  return std::ranges::equal(shape, saved, [](int64_t own, int64_t other) { return own == 0 || own == other; });
}

void check_fits(const std::string& path, const std::string& name, const Parameter& parameter, const NDArray& value,
                bool cast_dtype) {
  check(static_cast<bool>(value), ErrorKind::kValue, "load_parameters: '{}' of {} is no array", name, path);
  check(fits(parameter.shape(), value.shape()), ErrorKind::kValue,
        "load_parameters: parameter '{}' needs shape {} (0: not known), but {} has it in shape {}; load the file of a "
        "network of the same sizes",
        name, to_string(parameter.shape()), path, to_string(value.shape()));
  check(cast_dtype || parameter.dtype() == value.dtype(), ErrorKind::kValue,
        "load_parameters: parameter '{}' is {}, but {} has it as {}; set cast_dtype to cast what the file has", name,
        dtype_name(parameter.dtype()), path, dtype_name(value.dtype()));
}

}  // namespace

void Block::check_present() const {
  check(!presence_.is_gone, ErrorKind::kRuntime, "Block: it was moved from; use the one that it was moved to");
}

NDArray Block::operator()(const NDArray& x) {
  check_present();
  check(static_cast<bool>(x), ErrorKind::kType, "Block: the data are none; give an array");
  if (!traces_ || is_abstract(x)) return forward(x);
  return traces_->graph_for(*this, x)->run({&x, 1})[0];
}

void Block::hybridize(bool active) {
  check_present();
  traces_ = active && !own_graph() ? std::make_shared<Traces>() : nullptr;
  for (const auto& [name, child] : children_) child->hybridize(active);
}

void Block::initialize(const init::Initializer& initializer, const std::vector<Device>& devices, bool force_reinit) {
  change_all(ordered_params(), [&](Parameter& one) { one.initialize(initializer, devices, force_reinit); });
}

void Block::reset_ctx(const std::vector<Device>& devices) {
  change_all(ordered_params(), [&](Parameter& one) { one.reset_ctx(devices); });
}

ParameterDict Block::collect_params() const {
  const auto all = ordered_params();
  return {all.begin(), all.end()};
}

void Block::zero_grad() {
  for (const auto& [name, parameter] : collect_params()) parameter->zero_grad();
}

std::vector<std::pair<std::string, std::shared_ptr<Parameter>>> Block::ordered_params(const std::string& prefix) const {
  check_present();
  std::vector<std::pair<std::string, std::shared_ptr<Parameter>>> all;
  for (const auto& parameter : parameters_) all.emplace_back(prefix + parameter->name(), parameter);
  for (const auto& [name, child] : children_)
    std::ranges::move(child->ordered_params(prefix + name + "."), std::back_inserter(all));
  return all;
}

void Block::save_parameters(const std::string& path) const {
  NamedArrays saved;
  for (const auto& [name, parameter] : collect_params()) {
    saved.names.push_back(name);
    saved.arrays.push_back(parameter->reduce());
  }
  save_arrays(path, saved.arrays, saved.names, false);
}

void Block::load_parameters(const std::string& path, const LoadOptions& options) {
  check(std::ifstream(path).good(), ErrorKind::kOs, "load_parameters: {} cannot be read: {}", path,
        std::strerror(errno));
  const SavedValues values = load_values(path);
  const ParameterDict parameters = collect_params();
  for (const auto& [name, parameter] : parameters) {
    const auto found = values.find(name);
    if (found != values.end())
      check_fits(path, name, *parameter, found->second, options.cast_dtype);
    else
      check(options.allow_missing, ErrorKind::kValue,
            "load_parameters: parameter '{}' is missing in {}, which has {}; set allow_missing to leave it as it is",
            name, path, brief_names(values));
  }
  for (const auto& [name, value] : values)
    check(options.ignore_extra || parameters.contains(name), ErrorKind::kValue,
          "load_parameters: {} has '{}', which the network has not, whose parameters are {}; set ignore_extra to pass "
          "over it",
          path, name, brief_names(parameters));
  for (const auto& [name, value] : values)
    if (const auto found = parameters.find(name); found != parameters.end())
      found->second->set_data(cast_to(value, found->second->dtype()));
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
  const auto is_named = [&](const auto& one) { return one->name() == name; };
  check(std::ranges::none_of(parameters_, is_named), ErrorKind::kValue,
        "Block: there is a parameter '{}' already; give each a name of its own", name);
  return parameters_.emplace_back(
      std::make_shared<Parameter>(std::move(name), std::move(shape), std::move(own_init), std::move(grad_req)));
}

void Block::adopt(std::string name, std::unique_ptr<Block> child) {
  const auto is_named = [&](const auto& one) { return one.first == name; };
  check(std::ranges::none_of(children_, is_named), ErrorKind::kValue,
        "Block: there is a child '{}' already; give each a name of its own", name);
  children_.emplace_back(std::move(name), std::move(child));
}

size_t Block::part_count() const noexcept {
  size_t count = parameters_.size() + children_.size();
  for (const auto& [name, child] : children_) count += child->part_count();
  return count;
}

}  // namespace headrace::gluon
