// What an operator's rules for shapes and dtypes are given.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "headrace/ndarray.hpp"
#include "op/op_def.h"

namespace headrace {

class Var;

// The shape/dtype rule of a kernel operator: reads input types, states output types and cost. Runs in the calling
// thread, before anything is queued; what is wrong with the call is raised here.
class Infer {
 public:
  struct Type {
    Shape shape;
    DType dtype;
    Strides strides;
  };
  Infer(const OpDef& op, std::span<const NDArray> inputs, bool is_abstract = false) noexcept
      : op_(op), inputs_(inputs), is_abstract_(is_abstract) {}

  const char* name() const noexcept;
  size_t input_count() const noexcept { return inputs_.size(); }
  const Shape& shape(size_t i) const noexcept { return inputs_[i].shape(); }
  DType dtype(size_t i) const noexcept { return inputs_[i].dtype(); }
  int64_t size(size_t i) const noexcept { return inputs_[i].size(); }
  const NDArray& input(size_t i) const noexcept { return inputs_[i]; }

  void output(const Shape& shape, DType dtype);
  // The kernel writes this result with other strides, which must be dense: how images stay channels-last between
  // operators.
  void output(const Shape& shape, DType dtype, const Strides& strides);
  const Strides& strides(size_t i) const noexcept { return inputs_[i].strides(); }
  // Estimated nanoseconds on one core; the default is the time to stream all inputs and outputs.
  void cost(double nanoseconds) noexcept { cost_ = nanoseconds; }
  // Floating-point operations, where arithmetic and not memory decides how long it takes.
  void flops(double operations) noexcept { flops_ = operations; }
  // Where the results live; the default is the device of the inputs, or the thread's device.
  void device(Device device) noexcept { device_ = device; }
  // The task also changes what `var` orders (a generator's state).
  void also_writes(Var& var) noexcept { resource_ = &var; }
  // A number fixed when the operation is issued, which the kernel reads back (a counter of random numbers).
  void ticket(uint64_t value) noexcept { ticket_ = value; }

  template <class... Args>
  void require(bool condition, ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) const {
    if (!condition) [[unlikely]]
      fail_named(kind, text, fmt::make_format_args(args...));
  }

  // The operation is linked into a graph and does not run now: it must not draw or count anything.
  bool is_abstract() const noexcept { return is_abstract_; }
  const std::vector<Type>& outputs() const noexcept { return outputs_; }
  double cost() const noexcept { return cost_; }
  double flops() const noexcept { return flops_; }
  const std::optional<Device>& device() const noexcept { return device_; }
  Var* resource() const noexcept { return resource_; }
  uint64_t ticket() const noexcept { return ticket_; }

 private:
  [[noreturn]] void fail_named(ErrorKind kind, fmt::string_view text, fmt::format_args args) const;

  const OpDef& op_;
  std::span<const NDArray> inputs_;
  std::vector<Type> outputs_;
  double cost_ = -1;
  double flops_ = 0;
  std::optional<Device> device_;
  Var* resource_ = nullptr;
  uint64_t ticket_ = 0;
  bool is_abstract_;
};

// Shapes that follow from those of other inputs (a weight's from the data's) or of the results (a batch size), for
// graphs whose variables have no shape yet. An extent of -1 is unknown; no shape at all is none.
class Completion {
 public:
  using Shapes = std::span<std::optional<Shape>>;
  // Without `outputs` nothing is said or known of the results.
  Completion(const char* name, Shapes shapes, Shapes outputs = {}) noexcept
      : name_(name), shapes_(shapes), outputs_(outputs) {}
  const char* name() const noexcept { return name_; }
  size_t input_count() const noexcept { return shapes_.size(); }
  // All extents, or the number of them.
  bool is_known(size_t i) const noexcept;
  bool has_rank(size_t i) const noexcept { return i < shapes_.size() && shapes_[i]; }
  const Shape& shape(size_t i) const noexcept { return *shapes_[i]; }
  // Fills in what is unknown of input i, which may be absent. Raises MXNetError when what is known differs.
  void set(size_t i, const Shape& shape);
  // The same for results.
  bool has_output_rank(size_t i = 0) const noexcept { return i < outputs_.size() && outputs_[i]; }
  const Shape& output(size_t i = 0) const noexcept { return *outputs_[i]; }
  void set_output(size_t i, const Shape& shape);
  // All inputs and the first result have one shape.
  void set_all_equal();
  // Input i and result k have one shape.
  void set_equal(size_t i, size_t k = 0);

 private:
  void fill(Shapes shapes, size_t i, const Shape& shape) const;

  const char* name_;
  Shapes shapes_, outputs_;
};

// OpDef::complete of operators whose (first) result has the shape of the first input.
inline void keep_shape(Completion& c, const Attrs&) { c.set_equal(0); }

}  // namespace headrace
