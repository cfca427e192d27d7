// Issuing operations: shape and dtype rule, result arrays, task, tape. Any thread.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "op/catalogue.h"
#include "op/node.h"
#include "op/op_def.h"

namespace headrace {

// Number of results that `op` gives with these attributes.
size_t output_count(const OpDef& op, const Attrs& attrs);

// Issues `op`. `outputs` has output_count entries; those that are none are made, the others are written in place and
// must have the right shape and dtype (an `out=` argument). Raises what is wrong with the call; what goes wrong while
// running is kept on the outputs.
void invoke(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs);

// All results of an operator.
std::vector<NDArray> invoke_all(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs);

// The first result of an operator.
NDArray call(const OpDef& op, const AttrsPtr& attrs, std::initializer_list<NDArray> inputs);

// The same by name, attributes by name too; how gradients and compositions are written:
//   call("sum", {x}, {{"axis", Shape{0}}, {"keepdims", true}})
struct NamedAttr {
  const char* name;
  AttrValue value;
};
NDArray call(std::string_view name, std::initializer_list<NDArray> inputs, std::initializer_list<NamedAttr> attrs = {});
AttrsPtr attrs_of(const OpDef& op, std::initializer_list<NamedAttr> attrs);

// A view of the same storage with other geometry; recorded nowhere.
NDArray view_of(const NDArray& array, const Geometry& geometry);
// `source` written into `destination`, of equal shape, possibly on another device; casts.
void copy_into(const NDArray& destination, const NDArray& source);
// The same values on a device, in new memory; recorded nowhere, which copyto() is.
NDArray copied_to(const NDArray& source, Device device);
// Whether data have to be sent: places of the host share one memory.
bool needs_device_copy(Device to, Device from) noexcept;
// copy_into() where data have to be sent.
void copy_across(const NDArray& destination, const NDArray& source);
// A packed copy or the array itself when it is already row-major.
NDArray contiguous(const NDArray& array);
// Sum of `gradient` over the axes along which `shape` was broadcast; the array itself when shapes are equal.
NDArray sum_to_shape(const NDArray& gradient, const Shape& shape);
// The array without its history: no gradient flows back through the result.
NDArray without_history(const NDArray& array);
// They lie in memory as the array does, if it is dense.
NDArray zeros_like(const NDArray& array);
NDArray ones_like(const NDArray& array);
NDArray full(const Shape& shape, double value, DType dtype, Device device);
NDArray cast_to(const NDArray& array, DType dtype);

namespace dispatch_detail {

// Raises unless `given` can take a result of this type.
void check_output(const OpDef& op, const NDArray& given, const Shape& shape, DType dtype);
// Puts the operation on the tape if the thread records and an input leads to a leaf.
void record(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs, std::span<NDArray> outputs);
// Of what a gradient will read: nobody writes this view, in this thread, as long as the tape is recorded. Others of the
// same memory may be written: they may show another part of it. An array on the tape is kept so anyway.
void keep_from_writes(const NDArray& input) noexcept;
// Raises when a recorded graph would be written over.
void check_not_on_tape(const OpDef& op, std::span<const NDArray> outputs);
struct PushOptions {
  double cost_ns = -1;      // negative: estimated from the bytes
  double flops = 0;         // see Infer
  bool fresh = false;       // no other handle to the outputs exists yet
  Var* resource = nullptr;  // what the operation changes beside its outputs
  uint64_t ticket = 0;      // for KernelContext; of a pointwise operator: its ComputeType
};
// Hands the operation to the engine: what it reads and writes, and how it runs.
void push_call(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
               std::span<const NDArray> outputs, const PushOptions& options);
inline bool overlaps(const View& a, const View& b) noexcept { return a.storage() == b.storage(); }

}  // namespace dispatch_detail

}  // namespace headrace
