#include "headrace/gluon/trainer.hpp"

#include <algorithm>

#include "base/check.h"
#include "engine/runtime.h"
#include "gluon/gradient_exchange.h"
#include "gluon/state_file.h"
#include "gluon/update_rules.h"
#include "headrace/devices.hpp"
#include "op/invoke.h"
#include "op/node.h"
#include "op/pointwise.h"

namespace headrace::gluon {
namespace {

using kvstore::Capability;

constexpr char kRateName[] = "learning_rate";
constexpr size_t kFirstState = 2;  // inputs of an update operator: weight, gradient, states ...

std::string updates_name(const std::string& parameter) { return parameter + ".updates"; }

template <class T>
NDArray array_of(T number) {
  return NDArray::from(std::span<const T>(&number, 1), {1});
}

// What the optimizer remembers of a parameter on one device.
struct State {
  std::vector<NDArray> arrays;  // made at the first update
  int64_t updates = 0;
};

struct Slot {
  std::string name;
  std::shared_ptr<Parameter> parameter;
  std::vector<State> states;  // of each device, or of the store alone; empty: none yet

  bool is_trained() const { return parameter->has_gradient(); }
};

int64_t updates_of(const Slot& slot) { return slot.states.empty() ? 0 : slot.states[0].updates; }

bool is_fresh(const NDArray& weight) { return weight.node()->is_fresh; }

NDArray copy_on(Device device, const NDArray& array) { return copyto(array.detach(), device); }

}  // namespace

class Trainer::Impl {
 public:
  Impl(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& given,
       const TrainerOptions& options)
      : rule_(&find_update_rule(optimizer)),
        settings_(settings_of(*rule_, given)),
        operation_(&operation_of(*rule_, settings_)),
        options_(options) {
    check(!schedules() || !given.contains(kRateName), ErrorKind::kValue,
          "Trainer: the scheduler says what the learning rate is; set its base_lr instead of learning_rate");
    set_update_count(0);
    check(!parameters.empty(), ErrorKind::kValue,
          "Trainer: there are no parameters to update; give those of a network, net.collect_params()");
    for (const auto& [name, parameter] : parameters) {
      check(parameter != nullptr, ErrorKind::kType,
            "Trainer: parameter '{}' is null; give those of a network, net.collect_params()", name);
      slots_.push_back({name, parameter, {}});
    }
  }

  double rate() const { return settings_.at(kRateName); }
  void set_rate(double rate) {
    check(!schedules(), ErrorKind::kRuntime,
          "Trainer.set_learning_rate: the trainer has a scheduler, which says what the learning rate is");
    settings_.at(kRateName) = rate;
  }
  void set_batch_size(const char* function, int64_t batch_size) {
    check(batch_size > 0, ErrorKind::kValue, "Trainer.{}: batch_size must be positive, got {}", function, batch_size);
    rescale_ = 1 / static_cast<double>(batch_size);
  }

  void prepare();
  // Finds what a step takes; whether there is anything to do.
  bool check_fresh(bool ignore_stale_grad);
  // A step, once this is known.
  void take_step() {
    allreduce(false);
    if (store_) store_->agree_in(fmt::format("Trainer.step(batch_size) with gradients times {:.9g}", rescale_));
    update();
  }
  void join(bool ignore_stale_grad);
  void check_updates_here(const char* function) const {
    check(!updates_on_store_, ErrorKind::kRuntime,
          "{} when parameters are updated on kvstore is not supported. Try setting update_on_kvstore to false when "
          "creating trainer.",
          function);
  }
  bool has_fresh() const;
  // Gradients that backward has not written count as zeros, unless the program has written them by other means.
  void allreduce(bool written_by_hand);
  void update();

  void save(const std::string& path) const;
  void load(const std::string& path);

 private:
  std::vector<Device> common_devices() const;
  void check_store_may_change() const;
  bool decide_who_updates(const kvstore::KVStore& store) const;
  void make_store();
  void write_to_store();
  void fit_states();
  // Where ranks share updates, takes this rank's share of what states of whole parameters hold.
  void divide_states();
  // The array of a state for the whole parameter. Collective where ranks share its updates.
  NDArray whole_state(size_t slot, const NDArray& array) const;
  void make_stale();
  void update_stored(std::span<const kvstore::Update> updates);
  // The call that updates a parameter, whose state takes note of it.
  UpdateCall call_for(State& state, const NDArray& weight, const NDArray& gradient);
  bool schedules() const { return options_.lr_scheduler != nullptr; }
  // Of the parameter that was updated most often.
  void set_update_count(int64_t count) {
    num_update_ = count;
    if (schedules()) settings_.at(kRateName) = options_.lr_scheduler(count);
  }

  // Name in a file of a parameter's state `i`.
  std::string state_name(const Slot& slot, size_t i) const {
    return slot.name + "." + operation_->inputs[kFirstState + i];
  }
  size_t state_count() const { return operation_->inputs.size() - kFirstState; }

  const UpdateRule* rule_;
  OptimizerParams settings_;
  const OpDef* operation_;
  TrainerOptions options_;
  double rescale_ = 1;
  int64_t num_update_ = 0;
  std::vector<Slot> slots_;
  std::optional<uint64_t> version_;  // of the parameters when what follows was made
  std::vector<Device> devices_;
  std::unique_ptr<kvstore::KVStore> store_;  // null: nothing is exchanged
  std::vector<uint8_t> taken_;               // by slot: whether a device of any rank has a fresh gradient
  bool updates_on_store_ = false;
};

// --- what a step works on ---

std::vector<Device> Trainer::Impl::common_devices() const {
  for (const Slot& slot : slots_)
    check(slot.parameter->list_ctx() == slots_[0].parameter->list_ctx(), ErrorKind::kValue,
          "All Parameters must be initialized on the same set of contexts, but Parameter {} is initialized on others "
          "than {}.",
          slot.name, slots_[0].name);
  return slots_.empty() ? std::vector<Device>{} : slots_[0].parameter->list_ctx();
}

void Trainer::Impl::prepare() {
  runtime().engine.raise_kept();  // of an earlier step
  uint64_t version = 0;
  for (const Slot& slot : slots_) version += slot.parameter->version();
  if (version == version_) return;
  for (const Slot& slot : slots_) (void)slot.parameter->list_data();  // raises where there is none yet
  std::vector<Device> devices = common_devices();
  if (!version_ || devices != devices_) {
    devices_ = std::move(devices);
    make_store();
    fit_states();
  } else if (updates_on_store_) {
    write_to_store();
  }
  version_ = version;
}

// Other ranks know nothing of a change here.
void Trainer::Impl::check_store_may_change() const {
  check(!store_ || !store_->is_capable(Capability::kDistributed), ErrorKind::kRuntime,
        "Cannot reset distributed KVStore: values or devices of parameters changed after the first step; set them "
        "before it, or make a new trainer on every rank");
}

bool Trainer::Impl::decide_who_updates(const kvstore::KVStore& store) const {
  // Rules written here are out of the reach of servers.
  const bool can = store.is_capable(Capability::kOptimizer) && !store.has_servers();
  const bool must = store.is_capable(Capability::kAsynchronous);
  const bool wanted = options_.update_on_kvstore.value_or(can);
  check(can || !must, ErrorKind::kValue,
        "Trainer: the store '{}' is asynchronous, so it must update parameters, but is not capable of it; use another "
        "store",
        store.type());
  check(wanted || !must, ErrorKind::kValue,
        "Trainer: the store '{}' is asynchronous, so it must update; please set update_on_kvstore to true",
        store.type());
  check(can || !wanted, ErrorKind::kValue,
        "Trainer: the store '{}' cannot update; please set update_on_kvstore to false", store.type());
  return wanted;
}

void Trainer::Impl::make_store() {
  check_store_may_change();
  store_ = nullptr;
  updates_on_store_ = false;
  if (options_.kvstore.empty()) return;
  if (devices_.size() < 2 && !kvstore::is_capable(options_.kvstore, Capability::kDistributed)) return;
  std::unique_ptr<kvstore::KVStore> store = kvstore::create(options_.kvstore);
  const bool updates = decide_who_updates(*store);
  if (options_.compression) store->set_gradient_compression(*options_.compression);
  for (size_t i = 0; i < slots_.size(); ++i) {
    const std::vector<NDArray>& replicas = slots_[i].parameter->list_data();
    store->broadcast(static_cast<int64_t>(i), replicas[0].detach(), replicas);
  }
  store_ = std::move(store);
  updates_on_store_ = updates;
  if (updates) store_->set_updater([this](std::span<const kvstore::Update> all) { update_stored(all); });
}

void Trainer::Impl::write_to_store() {
  check_store_may_change();
  for (size_t i = 0; i < slots_.size(); ++i)
    store_->replace(static_cast<int64_t>(i), slots_[i].parameter->list_data()[0].detach());
}

// As many states as there are updates; new ones begin as copies of the first.
void Trainer::Impl::fit_states() {
  const size_t count = updates_on_store_ ? 1 : devices_.size();
  for (Slot& slot : slots_) {
    if (slot.states.empty()) slot.states.emplace_back();
    slot.states.resize(std::min(slot.states.size(), count));
    while (slot.states.size() < count) {
      State copy{{}, slot.states[0].updates};
      for (const NDArray& array : slot.states[0].arrays)
        copy.arrays.push_back(copy_on(devices_[slot.states.size()], array));
      slot.states.push_back(std::move(copy));
    }
  }
  divide_states();
}

void Trainer::Impl::divide_states() {
  if (!updates_on_store_ || !store_->shares_updates()) return;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const std::vector<kvstore::Share> shares = store_->shares(static_cast<int64_t>(i));
    const auto own = std::ranges::find(shares, static_cast<size_t>(store_->rank()), &kvstore::Share::owner);
    if (own == shares.end()) continue;
    for (NDArray& array : slots_[i].states[0].arrays) {
      if (array.shape() != slots_[i].parameter->list_data()[0].shape()) continue;  // it is one already
      const NDArray whole = contiguous(array);
      const int64_t offset = whole.view()->offset() + own->begin;
      array = copied_to(view_of(whole, {{own->end - own->begin}, {1}, offset}), whole.device());
    }
  }
}

NDArray Trainer::Impl::whole_state(size_t slot, const NDArray& array) const {
  const auto key = static_cast<int64_t>(slot);
  const bool is_shared = updates_on_store_ && !store_->shares(key).empty();
  return copy_on(cpu(), is_shared ? store_->gather_shares(key, array) : array);
}

// --- steps ---

bool Trainer::Impl::check_fresh(bool ignore_stale_grad) {
  taken_.assign(slots_.size(), 0);
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.is_trained()) continue;
    for (const NDArray& weight : slot.parameter->list_data()) {
      check(is_fresh(weight) || ignore_stale_grad, ErrorKind::kRuntime,
            "Trainer.step: backward has not written the gradient of parameter '{}' on {} since the last step; is it "
            "part of the loss?",
            slot.name, to_string(weight.device()));
      if (is_fresh(weight)) taken_[i] = 1;
    }
  }
  if (ignore_stale_grad && store_) store_->agree(taken_);
  return std::ranges::any_of(taken_, [](uint8_t taken) { return taken != 0; });
}

bool Trainer::Impl::has_fresh() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) {
    return slot.is_trained() && std::ranges::any_of(slot.parameter->list_data(), is_fresh);
  });
}

void Trainer::Impl::allreduce(bool written_by_hand) {
  if (!store_) return;
  std::vector<Exchanged> stale, fresh;
  for (size_t i = slots_.size(); i-- > 0;) {
    if (!slots_[i].is_trained()) continue;
    const std::vector<NDArray>& weights = slots_[i].parameter->list_data();
    Exchanged one{static_cast<int64_t>(i), slots_[i].parameter->list_grad(), {}};
    for (const NDArray& weight : weights)
      one.outs.push_back(updates_on_store_ ? weight.detach() : one.gradients[one.outs.size()]);
    if (!taken_[i]) {
      stale.push_back(std::move(one));
      continue;
    }
    for (size_t k = 0; k < weights.size() && !written_by_hand; ++k)
      if (!is_fresh(weights[k])) copy_into(one.gradients[k], zeros_like(one.gradients[k]));
    fresh.push_back(std::move(one));
  }
  exchange_gradients(*store_, fresh.empty() ? stale : fresh, updates_on_store_);
}

void Trainer::Impl::update() {
  for (size_t k = 0; !updates_on_store_ && k < devices_.size(); ++k) {
    std::vector<UpdateCall> calls;
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (!slot.is_trained()) continue;
      const std::vector<NDArray>& weights = slot.parameter->list_data();
      // With a store replicas stay equal: what one device contributed to, all take.
      if (store_ ? taken_[i] != 0 : is_fresh(weights[k]))
        calls.push_back(call_for(slot.states[k], weights[k].detach(), slot.parameter->grad(devices_[k])));
    }
    if (!calls.empty()) update_many(*operation_, calls);
  }
  make_stale();
}

void Trainer::Impl::make_stale() {
  for (const Slot& slot : slots_)
    if (slot.is_trained())
      for (const NDArray& weight : slot.parameter->list_data()) weight.node()->is_fresh = false;
}

void Trainer::Impl::join(bool ignore_stale_grad) {
  const auto first = std::ranges::find_if(slots_, &Slot::is_trained);
  if (!store_ || first == slots_.end()) return;
  while (store_->others_go_on(first - slots_.begin())) {
    prepare();
    make_stale();  // what is left of earlier gradients counts as zeros
    if (!ignore_stale_grad)
      taken_.assign(slots_.size(), 1);
    else if (!check_fresh(true))
      continue;
    take_step();
  }
}

void Trainer::Impl::update_stored(std::span<const kvstore::Update> updates) {
  std::vector<UpdateCall> calls;
  for (const kvstore::Update& one : updates) {
    Slot& slot = slots_[static_cast<size_t>(std::get<int64_t>(one.key))];
    calls.push_back(call_for(slot.states[0], one.stored, one.reduced));
  }
  update_many(*operation_, calls);
}

UpdateCall Trainer::Impl::call_for(State& state, const NDArray& weight, const NDArray& gradient) {
  for (NDArray& array : state.arrays) array = as_in_context(array, weight.device());
  while (state.arrays.size() < state_count()) state.arrays.push_back(zeros_like(weight));
  if (++state.updates > num_update_) set_update_count(state.updates);
  std::vector<NDArray> tensors{weight, gradient};
  tensors.insert(tensors.end(), state.arrays.begin(), state.arrays.end());
  return {std::move(tensors), update_attrs(*rule_, *operation_, settings_, state.updates, rescale_)};
}

// --- files ---

void Trainer::Impl::save(const std::string& path) const {
  NamedArrays saved{{array_of(settings_.at(kRateName))}, {kRateName}};
  auto add = [&](std::string name, NDArray array) {
    saved.names.push_back(std::move(name));
    saved.arrays.push_back(std::move(array));
  };
  for (size_t place = 0; place < slots_.size(); ++place) {
    const Slot& slot = slots_[place];
    if (slot.states.empty() || slot.states[0].updates == 0) continue;
    const State& state = slot.states[0];
    add(updates_name(slot.name), array_of(state.updates));
    for (size_t i = 0; i < state.arrays.size(); ++i) add(state_name(slot, i), whole_state(place, state.arrays[i]));
  }
  save_arrays(path, saved.arrays, saved.names, false);
}

void Trainer::Impl::load(const std::string& path) {
  StateFile file(path);
  auto loaded_rate = file.take_number<double>(kRateName);
  std::vector<Slot> slots;
  for (const Slot& old : slots_) {
    Slot& slot = slots.emplace_back(Slot{old.name, old.parameter, {}});
    State& state = slot.states.emplace_back();
    if (!file.has(updates_name(slot.name))) continue;
    state.updates = file.take_number<int64_t>(updates_name(slot.name));
    check(state.updates > 0, ErrorKind::kValue, "Trainer.load_states: '{}' of {} must be positive, got {}",
          updates_name(slot.name), path, state.updates);
    const NDArray& weight = slot.parameter->list_data()[0];
    for (size_t i = 0; i < state_count(); ++i)
      state.arrays.push_back(copy_on(weight.device(), file.take(state_name(slot, i), weight.dtype(), weight.shape())));
  }
  file.check_empty();
  slots_ = std::move(slots);
  if (version_) fit_states();
  settings_.at(kRateName) = loaded_rate;
  set_update_count(updates_of(*std::ranges::max_element(slots_, {}, updates_of)));
}

// --- the public face ---

Trainer::Trainer(const ParameterDict& parameters, std::string_view optimizer, const OptimizerParams& settings,
                 const TrainerOptions& options)
    : impl_(std::make_unique<Impl>(parameters, optimizer, settings, options)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Trainer::Impl& Trainer::impl() const {
  check(impl_ != nullptr, ErrorKind::kRuntime, "Trainer: it was moved from; use the one that it was moved to");
  return *impl_;
}

void Trainer::step(int64_t batch_size, bool ignore_stale_grad) {
  impl().set_batch_size("step", batch_size);
  impl().prepare();
  if (impl().check_fresh(ignore_stale_grad)) impl().take_step();
}

void Trainer::join(int64_t batch_size, bool ignore_stale_grad) {
  impl().set_batch_size("join", batch_size);
  impl().prepare();
  impl().join(ignore_stale_grad);
}

void Trainer::allreduce_grads() {
  impl().prepare();
  impl().check_updates_here("allreduce_grads()");
  const bool written_by_hand = !impl().has_fresh();
  static_cast<void>(impl().check_fresh(true));
  impl().allreduce(written_by_hand);
}

void Trainer::update(int64_t batch_size, bool ignore_stale_grad) {
  impl().set_batch_size("update", batch_size);
  impl().prepare();
  impl().check_updates_here("update()");
  if (impl().check_fresh(ignore_stale_grad)) impl().update();
}

double Trainer::learning_rate() const { return impl().rate(); }
void Trainer::set_learning_rate(double rate) { impl().set_rate(rate); }
void Trainer::save_states(const std::string& path) const { impl().save(path); }
void Trainer::load_states(const std::string& path) { impl().load(path); }

}  // namespace headrace::gluon
