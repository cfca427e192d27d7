#include "headrace/gluon/parameter.hpp"

#include <algorithm>

#include "base/check.h"
#include "headrace/autograd.hpp"
#include "op/invoke.h"

namespace headrace::gluon {
namespace {

bool is_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent > 0; });
}

}  // namespace

Parameter::Parameter(std::string name, Shape shape, init::Initializer own_init)
    : name_(std::move(name)), shape_(std::move(shape)), own_init_(std::move(own_init)) {}

void Parameter::initialize(const init::Initializer& initializer, Device device) {
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

const NDArray& Parameter::data() const {
  check(static_cast<bool>(data_), ErrorKind::kRuntime, "Parameter {}: {}", name_,
        init_ ? "its shape is not known before data went through the network once"
              : "it has no values; call initialize() on the network first");
  return data_;
}

NDArray Parameter::grad() const { return autograd::grad_of(data()); }

void Parameter::set_data(const NDArray& values) {
  check(static_cast<bool>(values), ErrorKind::kType, "Parameter {}: set_data needs an array, got none", name_);
  complete_shape(values.shape());
  if (!data_) {
    data_ = NDArray::empty(shape_, DType::kFloat32, device_);
    autograd::attach_grad(data_);
  }
  copy_into(data_, values);
}

void Parameter::make() {
  autograd::PauseScope pause;
  data_ = init_(shape_, device_);
  check(data_ && data_.shape() == shape_, ErrorKind::kValue, "Parameter {}: the initialiser must give shape {}", name_,
        to_string(shape_));
  autograd::attach_grad(data_);
}

}  // namespace headrace::gluon
