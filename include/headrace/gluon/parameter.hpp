// Parameter: an array that training changes, with its gradient. Layers share it with those who train or save it; it
// belongs to one thread at a time, but any number of threads may read it while none changes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "headrace/init.hpp"

namespace headrace::gluon {

class Parameter {
 public:
  // Entries of `shape` that are 0 are not known yet. `own_init` is preferred to what initialize is given. `grad_req`:
  // "write", "add" (gradients of several passes are summed) or "null" (it has none); ValueError for another word.
  Parameter(std::string name, Shape shape, init::Initializer own_init = nullptr, std::string grad_req = "write");

  const std::string& name() const noexcept { return name_; }
  const Shape& shape() const noexcept { return shape_; }
  DType dtype() const noexcept { return dtype_; }
  const std::string& grad_req() const noexcept { return grad_req_; }
  // ValueError: another word than those of the constructor.
  void set_grad_req(std::string grad_req);

  // Gives first values now, or, where the shape is not known, as soon as it is. A parameter that has values keeps them,
  // unless `force_reinit`.
  void initialize(const init::Initializer& initializer, Device device = {}, bool force_reinit = false);
  // Fills in the unknown entries of the shape. ValueError when known ones differ.
  void complete_shape(const Shape& shape);
  // Converts values and gradient; the default is float32.
  void cast(DType dtype);

  // The values. RuntimeError before initialize, or while the shape is not known.
  const NDArray& data() const;
  // What backward wrote; errors as for data, and ValueError when grad_req is "null".
  NDArray grad() const;
  // Replaces the values; the shape must fit. Nothing of the array is shared.
  void set_data(const NDArray& values);

 private:
  friend class TracedParameters;

  void make();
  // Takes `data` as the values and gives them a gradient where grad_req asks for one.
  void replace(NDArray data);
  // While a network is traced, data() gives an array that stands for this parameter, as an input of that name.
  void begin_trace(const std::string& name);
  void end_trace() noexcept;
  void make_stand_in();

  std::string name_;
  Shape shape_;
  DType dtype_ = DType::kFloat32;
  init::Initializer own_init_, init_;
  std::string grad_req_;
  Device device_;
  NDArray data_;
  std::string traced_as_;
  NDArray stand_in_;
};

// Parameters by their place in the network: "0.weight", "2.bias".
using ParameterDict = std::map<std::string, std::shared_ptr<Parameter>>;

}  // namespace headrace::gluon
