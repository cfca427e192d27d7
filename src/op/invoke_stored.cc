#include "op/invoke_stored.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/check.h"
#include "engine/runtime.h"
#include "ndarray/sparse_parts.h"
#include "ndarray/strided_copy.h"
#include "op/call_body.h"
#include "op/detours.h"
#include "op/invoke.h"
#include "op/pointwise.h"
#include "op/pointwise_sparse.h"
#include "op/rule.h"
#include "op/sparse_context.h"
#include "op/thread_state.h"

namespace headrace {
namespace {

using namespace dispatch_detail;

constexpr StorageKind kDense = StorageKind::kDense;
constexpr double kCostNs = 20e3;  // how much is stored is not known before

bool is_sparse(const NDArray& array) { return array && array.storage_kind() != kDense; }

// --- forms -----------------------------------------------------------------------------------------------------------

// One way to compute a call, with the types of its results.
struct Chosen {
  AttrFunction<void(SparseContext&, const Attrs&)> kernel;
  std::vector<StorageKind> kinds;  // of the results
  std::vector<Infer::Type> types;
  uint64_t ticket = 0;
  Var* resource = nullptr;  // see Infer
};

bool fits(std::span<const StorageKind> kinds, std::span<const NDArray> arrays) {
  if (kinds.size() != arrays.size()) return false;
  for (size_t i = 0; i < arrays.size(); ++i)
    if (arrays[i] && arrays[i].storage_kind() != kinds[i]) return false;
  return true;
}

// One kind for an operator of any number of arrays is that of all.
bool fits_inputs(const OpDef& op, std::span<const StorageKind> kinds, std::span<const NDArray> arrays) {
  if (!op.variadic || kinds.size() != 1) return fits(kinds, arrays);
  return std::ranges::all_of(arrays, [&](const NDArray& array) { return array.storage_kind() == kinds[0]; });
}

// Whether results of these shapes can be stored so.
bool can_be(std::span<const StorageKind> kinds, const std::vector<Infer::Type>& types) {
  for (size_t i = 0; i < kinds.size(); ++i) {
    const size_t axes = types[i].shape.size();
    if ((kinds[i] == StorageKind::kCsr && axes != 2) || (kinds[i] == StorageKind::kRowSparse && axes == 0))
      return false;
  }
  return true;
}

// Whether a form that changes its inputs finds packed what it changes.
bool can_change(const OpDef& op, std::span<const NDArray> inputs, std::span<const NDArray> outputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_written(op, i) && !is_sparse(inputs[i]) && !inputs[i].is_contiguous()) return false;
  return outputs.size() == 1;
}

// What rules say of a call: the types of its results, and what goes with the task.
struct Found {
  std::vector<Infer::Type> types;
  uint64_t ticket;
  Var* resource = nullptr;
};

Found infer_results(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs) {
  if (op.pointwise) {
    const PointwiseResult result = pointwise_result(op, attrs, inputs);
    return {{{result.shape, result.types.result, contiguous_strides(result.shape)}},
            static_cast<uint64_t>(result.types.compute)};
  }
  Infer infer(op, inputs);
  op.infer(infer, attrs);
  return {infer.outputs(), infer.ticket(), infer.resource()};
}

std::optional<Chosen> choose_form(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs,
                                  std::span<const NDArray> outputs) {
  const auto fits_call = [&](const StorageForm& form) {
    return fits_inputs(op, form.inputs, inputs) && (!form.when || form.when(attrs)) &&
           (form.outputs.empty() ? can_change(op, inputs, outputs) : fits(form.outputs, outputs));
  };
  if (std::ranges::none_of(op.storage_forms, fits_call)) return std::nullopt;
  const Found found = infer_results(op, attrs, inputs);
  for (const StorageForm& form : op.storage_forms)
    if (fits_call(form) && can_be(form.outputs, found.types))
      return Chosen{form.kernel, form.outputs, found.types, found.ticket, found.resource};
  return std::nullopt;
}

// Whether an array broadcasts to `shape`.
bool reaches(const NDArray& array, const Shape& shape) {
  const size_t count = array.ndim();
  if (count > shape.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    const int64_t extent = array.shape()[i];
    if (extent != 1 && extent != shape[shape.size() - count + i]) return false;
  }
  return true;
}

// A formula of arrays of one shape, of one sparse kind or dense, that gives zero wherever the sparse ones are zero.
// Beside csr arrays the dense ones may be smaller.
std::optional<Chosen> choose_formula(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs,
                                     std::span<const NDArray> outputs) {
  if (!op.pointwise || outputs.size() != 1 || !op.pointwise->state_inputs.empty()) return std::nullopt;
  const auto sparse = std::ranges::find_if(inputs, is_sparse);
  if (sparse == inputs.end()) return std::nullopt;
  const StorageKind kind = sparse->storage_kind();
  const auto is_alike = [&](const NDArray& input) {
    if (is_sparse(input)) return input.storage_kind() == kind && input.shape() == sparse->shape();
    return input.shape() == sparse->shape() || (kind == StorageKind::kCsr && reaches(input, sparse->shape()));
  };
  if (!std::ranges::all_of(inputs, is_alike) || (outputs[0] && outputs[0].storage_kind() != kind) ||
      !keeps_zero(op, attrs, inputs))
    return std::nullopt;
  const Found found = infer_results(op, attrs, inputs);
  return Chosen{run_pointwise_sparse, {kind}, found.types, found.ticket};
}

// What the queued task owns.
struct FormBody {
  AttrFunction<void(SparseContext&, const Attrs&)> kernel;
  CallBody call;

  void operator()() const {
    const std::span<View* const> all = call.views.views();
    std::vector<ViewPtr> copies;
    std::vector<View*> inputs;
    for (View* view : all.first(call.input_count)) {
      if (kind_of(*view) == kDense) view = copies.emplace_back(packed(ViewPtr(view))).get();
      inputs.push_back(view);
    }
    const std::span<View* const> outputs = all.subspan(call.input_count);
    for (const View* output : outputs)
      if (kind_of(*output) == kDense) output->storage()->begin_write(true);
    SparseContext context(*call.op, inputs, outputs, call.ticket);
    kernel(context, *call.attrs);
  }
};

NDArray make_result(const Infer::Type& type, StorageKind kind, Device device) {
  return NDArray(kind == kDense ? make_view(type.shape, type.dtype, device)
                                : make_sparse_view(kind, type.shape, type.dtype, device));
}

// The form writes new arrays, sparse ones that are given, and dense ones where it may: others get a copy.
void run_form(const OpDef& op, const AttrsPtr& attrs, Chosen chosen, std::span<const NDArray> inputs,
              std::span<NDArray> outputs) {
  std::vector<NDArray> written;
  SmallVector<Var*, 8> reads, writes;
  const Device device = inputs.empty() ? Device{} : inputs[0].device();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) check_output(op, outputs[i], chosen.types[i].shape, chosen.types[i].dtype);
    written.push_back(is_sparse(outputs[i]) ? outputs[i].off_tape()
                                            : make_result(chosen.types[i], chosen.kinds[i], device));
    writes.push_back(&written.back().view()->storage()->var());
  }
  if (chosen.resource) writes.push_back(chosen.resource);
  for (const NDArray& input : inputs) reads.push_back(&input.view()->storage()->var());
  SmallVector<View*, 8> views;
  for (const NDArray& input : inputs) views.push_back(input.view().get());
  for (const NDArray& one : written) views.push_back(one.view().get());
  const std::span<View* const> all(views.data(), views.size());
  runtime().engine.push(TaskSpec{.name = op.name.c_str(),
                                 .reads = {reads.data(), reads.size()},
                                 .writes = {writes.data(), writes.size()},
                                 .cost_ns = kCostNs,
                                 .priority = thread_state().priority,
                                 .urgency = thread_state().urgency},
                        FormBody{std::move(chosen.kernel), CallBody(op, *attrs, all.first(inputs.size()),
                                                                    all.subspan(inputs.size()), chosen.ticket)});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] && !is_sparse(outputs[i]))
      copy_into(outputs[i], written[i]);
    else if (!outputs[i])
      outputs[i] = written[i];
  }
}

// The form changes input 0 and what the operator changes; the result is input 0, or a copy where that is not `out`.
void run_in_place(const OpDef& op, const AttrsPtr& attrs, Chosen chosen, std::span<const NDArray> inputs,
                  NDArray& output) {
  if (output) check_output(op, output, chosen.types[0].shape, chosen.types[0].dtype);
  const bool is_own = output && same_elements(*output.view(), *inputs[0].view());
  SmallVector<View*, 8> views;
  SmallVector<Var*, 8> reads, writes;
  const NDArray changed = is_own ? inputs[0] : call("_copy", {inputs[0].off_tape()});
  for (size_t i = 0; i < inputs.size(); ++i) {
    views.push_back(i == 0 ? changed.view().get() : inputs[i].view().get());
    (is_written(op, i) ? writes : reads).push_back(&views.back()->storage()->var());
  }
  runtime().engine.push(
      TaskSpec{.name = op.name.c_str(),
               .reads = {reads.data(), reads.size()},
               .writes = {writes.data(), writes.size()},
               .cost_ns = kCostNs,
               .priority = thread_state().priority,
               .urgency = thread_state().urgency,
               .keeps = thread_state().keeps},
      FormBody{std::move(chosen.kernel), CallBody(op, *attrs, {views.data(), views.size()}, {}, chosen.ticket)});
  if (output && !is_own)
    copy_into(output, changed);
  else if (!output)
    output = changed;
}

// --- dense copies ----------------------------------------------------------------------------------------------------

// Outputs that are sparse, and inputs that the operator changes, get what their dense copies hold afterwards.
void invoke_on_dense(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                     std::span<NDArray> outputs) {
  count_detour(op, "computed on dense copies of sparse arrays");
  std::vector<NDArray> dense_inputs, dense_outputs;
  for (const NDArray& input : inputs) dense_inputs.push_back(dense(input));
  for (const NDArray& output : outputs) dense_outputs.push_back(is_sparse(output) ? NDArray() : output);
  invoke(op, attrs, dense_inputs, dense_outputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (op.mutates_input(i) && is_sparse(inputs[i])) copy_into(inputs[i], dense_inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_sparse(outputs[i]))
      copy_into(outputs[i], dense_outputs[i]);
    else
      outputs[i] = dense_outputs[i];
  }
}

}  // namespace

bool invoke_stored(const OpDef& op, const AttrsPtr& attrs, std::span<const NDArray> inputs,
                   std::span<NDArray> outputs) {
  const bool on_host = std::ranges::all_of(inputs, [](const NDArray& input) { return input.device().is_host(); });
  std::optional<Chosen> chosen;
  if (on_host) chosen = choose_form(op, *attrs, inputs, outputs);
  if (on_host && !chosen) chosen = choose_formula(op, *attrs, inputs, outputs);
  if (chosen) {
    if (chosen->kinds.empty())
      run_in_place(op, attrs, std::move(*chosen), inputs, outputs[0]);
    else
      run_form(op, attrs, std::move(*chosen), inputs, outputs);
    record(op, attrs, inputs, outputs);
    return true;
  }
  if (std::ranges::none_of(inputs, is_sparse) && std::ranges::none_of(outputs, is_sparse)) return false;
  invoke_on_dense(op, attrs, inputs, outputs);
  return true;
}

NDArray cast_storage(const NDArray& array, StorageKind kind) {
  if (array.storage_kind() == kind) return array;
  return call("cast_storage", {array}, {{"stype", std::string(storage_kind_name(kind))}});
}

void copy_stored(const NDArray& destination, const NDArray& source) {
  static const OpDef& cast = find_op("cast_storage");
  const StorageKind kind = destination.storage_kind();
  if (kind == kDense) return copy_into(destination, dense(source));
  const NDArray here = source.device().is_host() ? source : copied_to(source, Device{});
  const NDArray input = cast_to(here, destination.dtype());
  NDArray output = destination;
  invoke(cast, attrs_of(cast, {{"stype", std::string(storage_kind_name(kind))}}), {&input, 1}, {&output, 1});
}

NDArray dense(const NDArray& array) { return cast_storage(array, kDense); }

}  // namespace headrace
