#include "headrace/gluon/parameter.hpp"

#include <algorithm>

#include "base/check.h"
#include "graph/labels.h"
#include "headrace/autograd.hpp"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::gluon {
namespace {

bool is_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent > 0; });
}

// Operations run, whatever the thread is about.
class PlainScope {
 public:
  PlainScope() noexcept : saved_(thread_state()) {
    thread_state() = {};
    thread_state().device = saved_.device;
  }
  ~PlainScope() { thread_state() = saved_; }
  PlainScope(const PlainScope&) = delete;
  PlainScope& operator=(const PlainScope&) = delete;

 private:
  ThreadState saved_;
};

void check_grad_req(const std::string& name, const std::string& grad_req) {
  check(grad_req == "write" || grad_req == "add" || grad_req == "null", ErrorKind::kValue,
        "Parameter {}: grad_req must be one of 'write', 'add', or 'null', but got '{}'", name, grad_req);
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
  if (data_) replace(data_.detach());
}

void Parameter::initialize(const init::Initializer& initializer, Device device, bool force_reinit) {
  if (data_ && !force_reinit) return;
  init_ = own_init_ ? own_init_ : initializer;
  check(static_cast<bool>(init_), ErrorKind::kValue, "Parameter {}: initialize needs an initialiser", name_);
  device_ = device;
  data_ = {};
  if (is_known(shape_)) make();
}

void Parameter::complete_shape(const Shape& shape) {
  bool fits = shape.size() == shape_.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) fits = shape_[axis] == 0 || shape_[axis] == shape[axis];
  check(fits, ErrorKind::kValue, "Parameter {}: expected shape {} (0: not known), got {}", name_, to_string(shape_),
        to_string(shape));
  shape_ = shape;
  if (!data_ && init_ && is_known(shape_)) make();
}

void Parameter::cast(DType dtype) {
  if (dtype == dtype_) return;
  dtype_ = dtype;
  PlainScope scope;
  if (data_) replace(cast_to(data_.detach(), dtype));
}

const NDArray& Parameter::data() const {
  check(static_cast<bool>(data_), ErrorKind::kRuntime, "Parameter {}: {}", name_,
        init_ ? "its shape is not known before data went through the network once"
              : "it has no values; call initialize() on the network first");
  return stand_in_ ? stand_in_ : data_;
}

NDArray Parameter::grad() const { return autograd::grad_of(data()); }

void Parameter::set_data(const NDArray& values) {
  check(static_cast<bool>(values), ErrorKind::kType, "Parameter {}: set_data needs an array, got none", name_);
  complete_shape(values.shape());
  if (!data_) replace(NDArray::empty(shape_, dtype_, device_));
  copy_into(data_, values);
}

void Parameter::make() {
  PlainScope scope;
  NDArray data = init_(shape_, device_);
  check(data && data.shape() == shape_, ErrorKind::kValue, "Parameter {}: the initialiser must give shape {}", name_,
        to_string(shape_));
  replace(cast_to(data, dtype_));
  if (!traced_as_.empty()) make_stand_in();
}

void Parameter::replace(NDArray data) {
  data_ = std::move(data);
  if (grad_req_ != "null" && is_floating(dtype_)) autograd::attach_grad(data_, grad_req_);
}

void Parameter::begin_trace(const std::string& name) {
  traced_as_ = name;
  if (data_) make_stand_in();
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
