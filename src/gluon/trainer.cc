#include "headrace/gluon/trainer.hpp"

#include "base/check.h"
#include "gluon/update_rules.h"
#include "ndarray/serialize.h"
#include "op/invoke.h"
#include "op/pointwise.h"

namespace headrace::gluon {
namespace {

constexpr char kRateName[] = "learning_rate";
constexpr size_t kFirstState = 2;  // inputs of an update operator: weight, gradient, states ...

std::string updates_name(const std::string& parameter) { return parameter + ".updates"; }

// A file of states while it is read.
class StateFile {
 public:
  explicit StateFile(const std::string& path) : path_(path) {
    NamedArrays loaded = load_arrays(path);
    for (size_t i = 0; i < loaded.names.size(); ++i) arrays_[loaded.names[i]] = loaded.arrays[i];
  }

  bool has(const std::string& name) const { return arrays_.contains(name); }
  NDArray take(const std::string& name, DType dtype, const Shape& shape) {
    auto found = arrays_.extract(name);
    check(!found.empty(), ErrorKind::kValue,
          "Trainer.load_states: {} has no '{}'; expected what save_states of the same optimizer wrote", path_, name);
    const NDArray& array = found.mapped();
    check(static_cast<bool>(array), ErrorKind::kValue, "Trainer.load_states: '{}' of {} is no array", name, path_);
    check(array.dtype() == dtype && array.shape() == shape, ErrorKind::kValue,
          "Trainer.load_states: '{}' of {} must be {} of shape {}, got {} of shape {}", name, path_, dtype_name(dtype),
          to_string(shape), dtype_name(array.dtype()), to_string(array.shape()));
    return array;
  }
  template <class T>
  T take_number(const std::string& name) {
    return take(name, dtype_of<T>(), {1}).template to_vector<T>()[0];
  }
  void check_empty() const {
    if (!arrays_.empty())
      fail(ErrorKind::kValue,
           "Trainer.load_states: {} has '{}', which this trainer does not know; load it with the optimizer and the "
           "parameters that it was saved from",
           path_, arrays_.begin()->first);
  }

 private:
  std::string path_;
  std::map<std::string, NDArray> arrays_;
};

template <class T>
NDArray array_of(T number) {
  return NDArray::from(std::span<const T>(&number, 1), {1});
}

}  // namespace

Trainer::Trainer(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& settings)
    : rule_(&find_update_rule(optimizer)),
      settings_(settings_of(*rule_, settings)),
      operation_(&operation_of(*rule_, settings_)) {
  for (const auto& [name, parameter] : parameters) slots_.push_back({name, parameter, {}});
}

void Trainer::step(int64_t batch_size, bool ignore_stale_grad) {
  check(batch_size > 0, ErrorKind::kValue, "Trainer.step: batch_size must be positive, got {}", batch_size);
  std::vector<Slot*> fresh;
  for (Slot& slot : slots_) {
    if (slot.parameter->grad_req() == "null") continue;
    bool is_fresh = slot.parameter->data().node()->is_fresh;
    check(is_fresh || ignore_stale_grad, ErrorKind::kRuntime,
          "Trainer.step: backward has not written the gradient of parameter '{}' since the last step; is it part of "
          "the loss?",
          slot.name);
    if (is_fresh) fresh.push_back(&slot);
  }
  std::vector<UpdateCall> calls;
  for (Slot* slot : fresh) {
    NDArray weight = slot->parameter->data().detach();
    while (slot->states.size() < state_count()) slot->states.push_back(zeros_like(weight));
    ++slot->updates;
    std::vector<NDArray> tensors{weight, slot->parameter->grad()};
    tensors.insert(tensors.end(), slot->states.begin(), slot->states.end());
    calls.push_back({std::move(tensors),
                     update_attrs(*rule_, *operation_, settings_, slot->updates, 1 / static_cast<double>(batch_size))});
    slot->parameter->data().node()->is_fresh = false;
  }
  if (!calls.empty()) update_many(*operation_, calls);
}

void Trainer::save_states(const std::string& path) const {
  NamedArrays saved{{array_of(learning_rate())}, {kRateName}};
  auto add = [&](std::string name, NDArray array) {
    saved.names.push_back(std::move(name));
    saved.arrays.push_back(std::move(array));
  };
  for (const Slot& slot : slots_) {
    if (slot.updates == 0) continue;
    add(updates_name(slot.name), array_of(slot.updates));
    for (size_t i = 0; i < slot.states.size(); ++i) add(state_name(slot, i), slot.states[i]);
  }
  save_arrays(path, saved.arrays, saved.names, false);
}

void Trainer::load_states(const std::string& path) {
  StateFile file(path);
  auto rate = file.take_number<double>(kRateName);
  std::vector<Slot> slots;
  for (const Slot& old : slots_) {
    Slot& slot = slots.emplace_back(Slot{old.name, old.parameter, {}});
    if (!file.has(updates_name(slot.name))) continue;
    slot.updates = file.take_number<int64_t>(updates_name(slot.name));
    check(slot.updates > 0, ErrorKind::kValue, "Trainer.load_states: '{}' of {} must be positive, got {}",
          updates_name(slot.name), path, slot.updates);
    const NDArray& weight = slot.parameter->data();
    for (size_t i = 0; i < state_count(); ++i) {
      NDArray state = NDArray::empty(weight.shape(), weight.dtype(), weight.device());
      copy_into(state, file.take(state_name(slot, i), weight.dtype(), weight.shape()));
      slot.states.push_back(std::move(state));
    }
  }
  file.check_empty();
  slots_ = std::move(slots);
  set_learning_rate(rate);
}

std::string Trainer::state_name(const Slot& slot, size_t i) const {
  return slot.name + "." + operation_->inputs[kFirstState + i];
}

size_t Trainer::state_count() const { return operation_->inputs.size() - kFirstState; }

}  // namespace headrace::gluon
