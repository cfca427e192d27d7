// Parameter: an array that training changes, with its gradient. Layers share it with those who train or save it; it
// belongs to one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "headrace/init.hpp"

namespace headrace::gluon {

class Parameter {
 public:
  // Entries of `shape` that are 0 are not known yet. `own_init` is preferred to what initialize is given.
  Parameter(std::string name, Shape shape, init::Initializer own_init = nullptr);

  const std::string& name() const noexcept { return name_; }
  const Shape& shape() const noexcept { return shape_; }

  // Gives first values now, or, where the shape is not known, as soon as it is.
  void initialize(const init::Initializer& initializer, Device device = {});
  // Fills in the unknown entries of the shape. ValueError when known ones differ.
  void complete_shape(const Shape& shape);

  // The values. RuntimeError before initialize, or while the shape is not known.
  const NDArray& data() const;
  // What backward wrote; errors as for data.
  NDArray grad() const;
  // Replaces the values; the shape must fit. Nothing of the array is shared.
  void set_data(const NDArray& values);

 private:
  void make();

  std::string name_;
  Shape shape_;
  init::Initializer own_init_, init_;
  Device device_;
  NDArray data_;
};

// Parameters by their place in the network: "0.weight", "2.bias".
using ParameterDict = std::map<std::string, std::shared_ptr<Parameter>>;

}  // namespace headrace::gluon
