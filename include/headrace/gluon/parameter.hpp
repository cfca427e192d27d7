// Parameter: an array that training changes, with its gradient, on one device or as equal replicas on several. Layers
// share it with those who train or save it; it belongs to one thread at a time, but any number of threads may read it
// while none changes it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  // Whether backward writes one: grad_req asks for it, and the values are floating-point numbers.
  bool has_gradient() const noexcept;
  // ValueError: another word than those of the constructor.
  void set_grad_req(std::string grad_req);

  // Gives first values now, or, where the shape is not known, as soon as it is: drawn once and copied to each of
  // `devices` (none named: cpu(0)). A parameter that has values keeps them, unless `force_reinit`. ValueError: a device
  // is named twice. The parameter stays as it was when it raises.
  void initialize(const init::Initializer& initializer, std::vector<Device> devices = {}, bool force_reinit = false);
  // Moves the values, the mean of the replicas, to other devices, with fresh gradients; errors as for initialize, and
  // ValueError before it. The parameter stays as it was when it raises.
  void reset_ctx(std::vector<Device> devices);
  // Fills in the unknown entries of the shape. ValueError when known ones differ.
  void complete_shape(const Shape& shape);
  // Converts values and gradient; the default is float32.
  void cast(DType dtype);

  // The values on `device`; without it on the only device, or, of several, on the thread's. RuntimeError before
  // initialize, while the shape is not known, and for a device that was not named there.
  const NDArray& data() const;
  const NDArray& data(Device device) const;
  // What backward wrote; errors as for data, and ValueError when grad_req is "null".
  NDArray grad() const;
  NDArray grad(Device device) const;
  // On all devices, in the order of initialize; errors as for data and grad.
  const std::vector<NDArray>& list_data() const;
  std::vector<NDArray> list_grad() const;
  // Writes zeros into the gradients; does nothing where there are none.
  void zero_grad();
  // Where the values are, or will be. RuntimeError before initialize.
  const std::vector<Device>& list_ctx() const;
  // Replaces the values on all devices; the shape must fit. Nothing of the array is shared.
  void set_data(const NDArray& values);
  // The mean of the replicas on the host, which is what files have; errors as for data. Waits for several replicas; one
  // whose device was lost is left out, and said so in the log.
  NDArray reduce() const;
  // Grows whenever arrays are replaced or set.
  uint64_t version() const noexcept { return version_; }

 private:
  friend class TracedParameters;

  void check_has_data() const;
  // Copies of the replicas on the host.
  std::vector<NDArray> readable() const;
  const NDArray& replica_on(Device device) const;
  void make();
  // Takes `values` on each device.
  void replicate(const NDArray& values);
  // New values have fresh gradients, where grad_req asks for some.
  void attach_gradients();
  // While a network is traced, data() gives an array that stands for this parameter, as an input of that name.
  void begin_trace(const std::string& name);
  void end_trace() noexcept;
  void make_stand_in();

  std::string name_;
  Shape shape_;
  DType dtype_ = DType::kFloat32;
  init::Initializer own_init_, init_;
  std::string grad_req_;
  std::vector<Device> devices_;
  std::vector<NDArray> data_;  // of each device; empty while there are no values
  uint64_t version_ = 0;
  std::string traced_as_;
  NDArray stand_in_;
};

// Parameters by their place in the network: "0.weight", "2.bias".
using ParameterDict = std::map<std::string, std::shared_ptr<Parameter>>;

}  // namespace headrace::gluon
