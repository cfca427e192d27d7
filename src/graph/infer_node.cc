#include "graph/infer_node.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "graph/nodes.h"
#include "op/pointwise.h"
#include "op/rule.h"
#include "op/trace.h"

namespace headrace {
namespace {

using Type = InferredTypes::Type;
using Shapes = std::vector<std::optional<Shape>>;

bool is_full(const std::optional<Shape>& shape) { return shape && std::ranges::count(*shape, -1) == 0; }

bool all_known(const std::vector<Type>& types, auto&& is_known) { return std::ranges::all_of(types, is_known); }
bool shapes_known(const std::vector<Type>& types) {
  return all_known(types, [](const Type& t) { return is_full(t.shape); });
}
bool dtypes_known(const std::vector<Type>& types) {
  return all_known(types, [](const Type& t) { return t.dtype.has_value(); });
}

Shapes shapes_of(const std::vector<Type>& types) {
  Shapes shapes;
  for (const Type& type : types) shapes.push_back(type.shape);
  return shapes;
}

void store(std::vector<Type>& types, const Shapes& shapes) {
  for (size_t i = 0; i < types.size(); ++i) types[i].shape = shapes[i];
}

// The shape of a broadcast result. An unknown extent beside one that is not 1 may still be 1 or the same.
void complete_broadcast(Completion& c) {
  Shape result;
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has_rank(i)) return;
    const Shape& shape = c.shape(i);
    while (result.size() < shape.size()) result.insert(size_t{0}, 1);
    for (size_t k = 1; k <= shape.size(); ++k) {
      int64_t& extent = result[result.size() - k];
      const int64_t other = shape[shape.size() - k];
      if (extent == 1 || (extent == -1 && other != 1)) extent = other;
    }
  }
  c.set_output(0, result);
}

void complete(const Node& node, Shapes& inputs, std::span<std::optional<Shape>> outputs) {
  Completion completion(node.label->name.c_str(), inputs, outputs);
  const Pointwise* pointwise = node.op->pointwise.get();
  if (node.op->complete)
    node.op->complete(completion, *node.attrs);
  else if (pointwise && (pointwise->equal_shapes || inputs.size() == 1))
    completion.set_all_equal();
  else if (pointwise && !outputs.empty())
    complete_broadcast(completion);
}

// Puts a number in the place of extents that are unknown, but for those that follow from inputs before them. Operators
// with many inputs take them alike, so that nothing more follows from the later ones.
void fill_unknown(const Node& node, Shapes& inputs, int64_t number) {
  constexpr int kDifferentInputs = 16;
  complete(node, inputs, {});
  int filled = 0;
  for (auto& shape : inputs) {
    if (!shape || is_full(shape)) continue;
    std::ranges::replace(*shape, int64_t{-1}, number);
    if (++filled <= kDifferentInputs) complete(node, inputs, {});
  }
  if (filled > kDifferentInputs) complete(node, inputs, {});
}

// What the operator's rule gives for inputs of these types; nothing where that depends on values.
std::vector<Type> results_of(const Node& node, const AttrsPtr& attrs, const std::vector<Type>& inputs) {
  std::vector<NDArray> arrays;
  for (const Type& input : inputs)
    arrays.push_back(abstract_variable(*input.shape, input.dtype.value_or(DType::kFloat32)));
  std::vector<Type> results;
  try {
    for (const NDArray& result : invoke_all(*node.op, attrs, arrays))
      results.push_back({result.shape(), result.dtype()});
  } catch (const ValuesUnknown&) {
  }
  return results;
}

// --- shapes ----------------------------------------------------------------------------------------------------------

// Rules of operators want whole shapes. Where extents are unknown they are asked with several numbers in their place:
// what stays the same does not depend on the unknown. The large ones can be divided by all small numbers.
constexpr std::array<int64_t, 3> kStandIns = {1, 840, 1680};

struct Trial {
  Shapes inputs, outputs;
};

std::optional<Trial> tried(const Node& node, const NodeTypes& types, int64_t stand_in) {
  Trial trial{shapes_of(types.inputs), {}};
  try {
    fill_unknown(node, trial.inputs, stand_in);
    std::vector<Type> inputs = types.inputs;
    store(inputs, trial.inputs);
    if (shapes_known(inputs)) trial.outputs = shapes_of(results_of(node, node.attrs, inputs));
  } catch (const Error&) {
    return std::nullopt;
  }
  trial.outputs.resize(types.outputs.size());
  return trial;
}

void keep_common(Shapes& common, const Shapes& others) {
  for (size_t i = 0; i < common.size(); ++i) {
    if (!common[i] || !others[i] || common[i]->size() != others[i]->size()) {
      common[i].reset();
      continue;
    }
    for (size_t k = 0; k < common[i]->size(); ++k)
      if ((*common[i])[k] != (*others[i])[k]) (*common[i])[k] = -1;
  }
}

void infer_partial_shapes(const Node& node, NodeTypes& types) {
  if (std::ranges::none_of(types.inputs, [](const Type& t) { return t.shape && !is_full(t.shape); })) return;
  std::optional<Trial> common = tried(node, types, kStandIns.back());
  if (!common) return;
  for (int64_t stand_in : std::span(kStandIns).first(kStandIns.size() - 1)) {
    const std::optional<Trial> trial = tried(node, types, stand_in);
    if (!trial && stand_in != 1) return;
    if (!trial) continue;
    keep_common(common->inputs, trial->inputs);
    keep_common(common->outputs, trial->outputs);
  }
  Shapes inputs = shapes_of(types.inputs), outputs = shapes_of(types.outputs);
  Completion found(node.label->name.c_str(), inputs, outputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (common->inputs[i]) found.set(i, *common->inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (common->outputs[i]) found.set_output(i, *common->outputs[i]);
  store(types.inputs, inputs);
  store(types.outputs, outputs);
}

void infer_from_rule(const Node& node, const AttrsPtr& attrs, NodeTypes& types) {
  const std::vector<Type> results = results_of(node, attrs, types.inputs);
  const bool settles_dtypes = dtypes_known(types.inputs);
  Shapes outputs = shapes_of(types.outputs);
  Completion found(node.label->name.c_str(), {}, outputs);
  for (size_t i = 0; i < std::min(results.size(), types.outputs.size()); ++i) {
    found.set_output(i, *results[i].shape);
    if (settles_dtypes) types.outputs[i].dtype = results[i].dtype;
  }
  store(types.outputs, outputs);
}

void infer_shapes(const Node& node, NodeTypes& types) {
  Shapes inputs = shapes_of(types.inputs), outputs = shapes_of(types.outputs);
  complete(node, inputs, outputs);
  store(types.inputs, inputs);
  store(types.outputs, outputs);
  if (shapes_known(types.inputs))
    infer_from_rule(node, node.attrs, types);
  else
    infer_partial_shapes(node, types);
}

// --- dtypes ----------------------------------------------------------------------------------------------------------

// The dtypes of the results for inputs of these dtypes, whatever their shapes: those that are not known are made up.
std::vector<Type> results_for_dtypes(const Node& node, const std::vector<Type>& inputs) {
  constexpr int64_t kMadeUp = 64;
  for (size_t rank : {4, 2, 3, 1, 5}) {
    Shapes shapes = shapes_of(inputs);
    const Shape made_up(rank, kMadeUp);
    if (!shapes.empty() && !shapes[0]) shapes[0] = made_up;
    try {
      fill_unknown(node, shapes, kMadeUp);
      std::vector<Type> whole = inputs;
      for (size_t i = 0; i < inputs.size(); ++i) whole[i].shape = shapes[i] ? shapes[i] : made_up;
      return results_of(node, node.attrs, whole);
    } catch (const Error&) {  // the operator wants another number of axes
    }
  }
  return {};
}

// The results where inputs whose dtype is not known hold one of these.
constexpr std::array kSomeDTypes = {DType::kFloat16, DType::kFloat64};
std::array<std::vector<Type>, 2> results_for_some_dtypes(const Node& node, const std::vector<Type>& inputs) {
  std::array<std::vector<Type>, 2> results;
  for (size_t k = 0; k < kSomeDTypes.size(); ++k) {
    std::vector<Type> all = inputs;
    for (Type& input : all) input.dtype = input.dtype.value_or(kSomeDTypes[k]);
    results[k] = results_for_dtypes(node, all);
  }
  return results;
}

// Whether the result holds what the inputs hold, whatever that is.
bool keeps_dtype(const Node& node, std::vector<Type> inputs) {
  if (node.op->as_view) return true;
  for (Type& input : inputs) input.dtype.reset();
  const auto results = results_for_some_dtypes(node, inputs);
  for (size_t k = 0; k < kSomeDTypes.size(); ++k)
    if (results[k].empty() || results[k][0].dtype != kSomeDTypes[k]) return false;
  return true;
}

// Parameters hold what the data hold; statistics and what goes with them, and parameters of integers, float32. Other
// results beside data are what their own operators say, unless the two are combined element by element.
void complete_input_dtypes(const Node& node, std::vector<Type>& inputs) {
  const auto known = std::ranges::find_if(inputs, [](const Type& t) { return t.dtype.has_value(); });
  if (known == inputs.end()) return;
  DType dtype = *known->dtype;
  const bool is_elementwise = node.op->pointwise && inputs.size() == 2;
  const bool keeps_float32 = node.op->mutates != kNothing && dtype != DType::kFloat64;
  if ((!is_floating(dtype) && !is_elementwise) || (keeps_float32 && known == inputs.begin())) dtype = DType::kFloat32;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Node* source = node.inputs[i].node().get();
    if (!inputs[i].dtype && (is_elementwise || (source && is_variable(*source)))) inputs[i].dtype = dtype;
  }
}

// Raises where the operator takes inputs that all hold the dtype of the first, but not these.
void check_dtypes_agree(const Node& node, const std::vector<Type>& inputs) {
  std::vector<Type> alike = inputs;
  for (Type& input : alike) input.dtype = inputs[0].dtype;
  if (alike == inputs || results_for_dtypes(node, alike).empty()) return;
  std::string listed;
  for (const Type& input : inputs) listed += fmt::format("{}{}", listed.empty() ? "" : ", ", dtype_name(*input.dtype));
  fail(ErrorKind::kRuntime, "Error in operator {}: the dtypes of its inputs do not go together: {}. Cast some of them",
       node.label->name, listed);
}

void infer_dtypes(const Node& node, NodeTypes& types) {
  if (!types.inputs.empty() && !types.inputs[0].dtype && types.outputs[0].dtype && keeps_dtype(node, types.inputs))
    types.inputs[0].dtype = types.outputs[0].dtype;
  complete_input_dtypes(node, types.inputs);
  if (dtypes_known(types.outputs) || (dtypes_known(types.inputs) && shapes_known(types.inputs))) return;
  const auto [first, second] = results_for_some_dtypes(node, types.inputs);
  if (first.empty() && !types.inputs.empty() && dtypes_known(types.inputs)) check_dtypes_agree(node, types.inputs);
  for (size_t i = 0; i < std::min({first.size(), second.size(), types.outputs.size()}); ++i)
    if (first[i].dtype == second[i].dtype) types.outputs[i].dtype = first[i].dtype;
}

// --- operators without inputs ----------------------------------------------------------------------------------------

void infer_declared(const Node& node, const Shape& declared, Type& type) {
  Shapes shapes{type.shape};
  Completion(node.label->name.c_str(), {}, shapes).set_output(0, declared);
  type.shape = shapes[0];
  Shape whole = *type.shape;
  std::ranges::replace(whole, int64_t{-1}, int64_t{1});
  const std::vector<Type> results = results_of(node, with_declared_shape(node, whole), {});
  type.dtype = results.at(0).dtype;
}

}  // namespace

bool NodeTypes::is_known() const noexcept {
  return shapes_known(inputs) && dtypes_known(inputs) && shapes_known(outputs) && dtypes_known(outputs);
}

void infer_node(const Node& node, NodeTypes& types) {
  if (types.outputs.empty()) return;
  if (const std::optional<Shape> declared = declared_shape(node); declared && !is_full(declared)) {
    infer_declared(node, *declared, types.outputs.at(0));
  } else if (!node.label->subgraphs.empty()) {
    infer_from_bodies(node, types);
  } else {
    infer_dtypes(node, types);
    infer_shapes(node, types);
  }
}

std::optional<Shape> declared_shape(const Node& node) {
  if (!node.op || !node.inputs.empty() || output_count(node) != 1) return std::nullopt;
  const FieldInfo* field = node.op->schema->find("shape");
  if (!field || field->kind != FieldKind::kShape) return std::nullopt;
  const AttrValue value = field->get(node.attrs->data());
  const Shape* shape = std::get_if<Shape>(&value);
  if (!shape) return std::nullopt;
  Shape declared = *shape;
  if (!node.op->name.starts_with("_np")) std::ranges::replace(declared, int64_t{0}, int64_t{-1});
  return declared;
}

AttrsPtr with_declared_shape(const Node& node, const Shape& shape) {
  IntrusivePtr<Attrs> made = node.op->make_attrs();
  for (const FieldInfo& field : node.op->schema->fields) {
    const AttrValue value = std::string_view(field.name) == "shape" ? AttrValue(shape) : field.get(node.attrs->data());
    if (!std::holds_alternative<std::monostate>(value) || field.nullable)
      field.set(made->mutable_data(), value, field, node.op->name.c_str());
  }
  return AttrsPtr(made.get());
}

}  // namespace headrace
