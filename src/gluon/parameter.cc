#include "headrace/gluon/parameter.hpp"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "gluon/rollback.h"
#include "graph/labels.h"
#include "headrace/arithmetic.hpp"
#include "headrace/autograd.hpp"
#include "headrace/devices.hpp"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::gluon {
namespace {

bool is_complete(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent > 0; });
}

// Operations run, whatever the thread is about.
constexpr auto kPlainly = [](ThreadState& state) { state = {.device = state.device}; };

void check_grad_req(const std::string& name, const std::string& grad_req) {
  check(grad_req == "write" || grad_req == "add" || grad_req == "null", ErrorKind::kValue,
        "Parameter {}: grad_req must be one of 'write', 'add', or 'null', but got '{}'", name, grad_req);
}

// cpu, cpu_pinned and cpu_shared of one number are the same memory, so they share a replica.
bool is_same_place(Device a, Device b) { return a.id == b.id && a.is_host() == b.is_host(); }

std::string names_of(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& device : devices) text += (text.empty() ? "" : ", ") + to_string(device);
  return text;
}

std::vector<Device> checked_devices(const std::string& name, std::vector<Device> devices) {
  if (devices.empty()) devices.emplace_back();
  for (size_t i = 0; i < devices.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      check(!is_same_place(devices[i], devices[k]), ErrorKind::kValue,
            "Parameter {}: a device has one replica, but the devices are {}", name, names_of(devices));
  return devices;
}

}  // namespace

Parameter::Parameter(std::string name, Shape shape, init::Initializer own_init, std::string grad_req)
    : name_(std::move(name)), shape_(std::move(shape)), own_init_(std::move(own_init)), grad_req_(std::move(grad_req)) {
  check_grad_req(name_, grad_req_);
}

void Parameter::set_grad_req(std::string grad_req) {
  check_grad_req(name_, grad_req);
  if (grad_req == grad_req_) return;
  grad_req_ = std::move(grad_req);
  if (data_.empty()) return;
  const std::vector<NDArray> values = std::exchange(data_, {});
  for (const NDArray& one : values) data_.push_back(one.detach());
  attach_gradients();
}

void Parameter::initialize(const init::Initializer& initializer, std::vector<Device> devices, bool force_reinit) {
  if (!data_.empty() && !force_reinit) return;
  Rollback rollback({this});
  init_ = own_init_ ? own_init_ : initializer;
  check(static_cast<bool>(init_), ErrorKind::kValue, "Parameter {}: initialize needs an initialiser", name_);
  devices_ = checked_devices(name_, std::move(devices));
  data_.clear();
  if (is_complete(shape_)) make();
  rollback.keep();
}

void Parameter::reset_ctx(std::vector<Device> devices) {
  check(!devices_.empty(), ErrorKind::kValue,
        "Cannot reset context for Parameter '{}' because it has not been initialized.", name_);
  const NDArray values = data_.empty() ? NDArray() : reduce();
  Rollback rollback({this});
  devices_ = checked_devices(name_, std::move(devices));
  if (values) replicate(values);
  rollback.keep();
}

void Parameter::complete_shape(const Shape& shape) {
  bool fits = shape.size() == shape_.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) fits = shape_[axis] == 0 || shape_[axis] == shape[axis];
  check(fits, ErrorKind::kValue, "Parameter {}: expected shape {} (0: not known), got {}", name_, to_string(shape_),
        to_string(shape));
  shape_ = shape;
  if (data_.empty() && init_ && is_complete(shape_)) make();
}

void Parameter::cast(DType dtype) {
  if (dtype == dtype_) return;
  dtype_ = dtype;
  const ThreadStateScope scope(kPlainly);
  for (NDArray& one : data_) one = cast_to(one.detach(), dtype);
  attach_gradients();
}

void Parameter::check_has_data() const {
  check(!data_.empty(), ErrorKind::kRuntime, "Parameter {} {}: {}", name_, to_string(shape_),
        init_ ? "its shape is not known before data went through the network once"
              : "it has no values; call initialize() on the network first");
}

const NDArray& Parameter::replica_on(Device device) const {
  for (size_t i = 0; i < devices_.size(); ++i)
    if (is_same_place(devices_[i], device)) return data_[i];
  fail(ErrorKind::kRuntime, "Parameter '{}' was not initialized on context {}. It was only initialized on [{}].", name_,
       to_string(device), names_of(devices_));
}

const NDArray& Parameter::data() const {
  check_has_data();
  if (stand_in_) return stand_in_;
  return data_.size() == 1 ? data_[0] : replica_on(thread_state().device);
}

const NDArray& Parameter::data(Device device) const {
  check_has_data();
  return stand_in_ ? stand_in_ : replica_on(device);  // a traced graph is for all devices
}

NDArray Parameter::grad() const { return autograd::grad_of(data()); }
NDArray Parameter::grad(Device device) const { return autograd::grad_of(data(device)); }

const std::vector<NDArray>& Parameter::list_data() const {
  check_has_data();
  return data_;
}

std::vector<NDArray> Parameter::list_grad() const {
  check_has_data();
  std::vector<NDArray> gradients;
  for (const NDArray& one : data_) gradients.push_back(autograd::grad_of(one));
  return gradients;
}

void Parameter::zero_grad() {
  const ThreadStateScope scope(kPlainly);
  for (const NDArray& one : data_)
    if (one.node()) copy_into(one.node()->gradient, zeros_like(one.node()->gradient));
}

const std::vector<Device>& Parameter::list_ctx() const {
  check(!devices_.empty(), ErrorKind::kRuntime, "Parameter '{}' has not been initialized", name_);
  return devices_;
}

void Parameter::set_data(const NDArray& values) {
  check(static_cast<bool>(values), ErrorKind::kType, "Parameter {}: set_data needs an array, got none", name_);
  complete_shape(values.shape());
  if (!data_.empty()) {
    for (const NDArray& one : data_) copy_into(one, values);
    ++version_;
    return;
  }
  if (devices_.empty()) devices_.emplace_back();
  NDArray own = NDArray::empty(shape_, dtype_, devices_[0]);
  copy_into(own, values);
  replicate(own);
}

std::vector<NDArray> Parameter::readable() const {
  std::vector<NDArray> found;
  std::optional<Error> failure;
  for (const NDArray& one : data_) {
    try {
      NDArray copy = as_in_context(one.detach(), cpu());
      copy.wait_to_read();
      found.push_back(std::move(copy));
    } catch (const Error& error) {
      failure = error;
    }
  }
  if (failure && found.empty()) throw *failure;
  if (failure)
    log(LogLevel::kWarn, "Parameter '{}' is not readable on all of [{}] and is taken from the others: {}", name_,
        names_of(devices_), failure->what());
  return found;
}

NDArray Parameter::reduce() const {
  check_has_data();
  const ThreadStateScope scope(kPlainly);
  if (data_.size() == 1) return as_in_context(data_[0].detach(), cpu());
  const std::vector<NDArray> replicas = readable();
  NDArray total = replicas[0];
  for (size_t i = 1; i < replicas.size(); ++i) total = total + replicas[i];
  return cast_to(total / static_cast<double>(replicas.size()), dtype_);
}

void Parameter::make() {
  const ThreadStateScope scope(kPlainly);
  NDArray values = init_(shape_, Device{});
  check(values && values.shape() == shape_, ErrorKind::kValue, "Parameter {}: the initialiser must give shape {}",
        name_, to_string(shape_));
  replicate(cast_to(values, dtype_));
  if (!traced_as_.empty()) make_stand_in();
}

void Parameter::replicate(const NDArray& values) {
  const ThreadStateScope scope(kPlainly);
  data_.clear();
  for (const Device& device : devices_) data_.push_back(as_in_context(values.detach(), device));
  attach_gradients();
}

bool Parameter::has_gradient() const noexcept { return grad_req_ != "null" && is_floating(dtype_); }

void Parameter::attach_gradients() {
  ++version_;
  if (!has_gradient()) return;
  for (NDArray& one : data_) autograd::attach_grad(one, grad_req_);
}

void Parameter::begin_trace(const std::string& name) {
  traced_as_ = name;
  if (!data_.empty()) make_stand_in();
}

void Parameter::end_trace() noexcept {
  traced_as_.clear();
  stand_in_ = {};
}

void Parameter::make_stand_in() {
  stand_in_ =
      traced_variable(traced_as_, shape_, dtype_,
                      {{"__shape__", to_string(shape_)}, {"__dtype__", std::to_string(static_cast<int>(dtype_))}});
}

}  // namespace headrace::gluon
