#include "graph/infer_node.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/check.h"
#include "graph/nodes.h"
#include "op/pointwise.h"
#include "op/quantization.h"
#include "op/result_dtype.h"
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

// --- shapes ----------------------------------------------------------------------------------------------------------

// What the operator's rule gives for inputs of these types; nothing where that depends on values.
std::vector<Type> result_types(const Node& node, const std::vector<Type>& inputs) {
  std::vector<NDArray> arrays;
  for (const Type& input : inputs)
    arrays.push_back(abstract_variable(*input.shape, input.dtype.value_or(DType::kFloat32)));
  std::vector<Type> results;
  try {
    for (const NDArray& result : invoke_all(*node.op, node.attrs, arrays))
      results.push_back({result.shape(), result.dtype()});
  } catch (const ValuesUnknown&) {
  }
  return results;
}

void infer_from_rule(const Node& node, NodeTypes& types) {
  const std::vector<Type> results = result_types(node, types.inputs);
  const bool settles_dtypes = dtypes_known(types.inputs);
  Shapes outputs = shapes_of(types.outputs);
  Completion found(node.label->name.c_str(), {}, outputs);
  for (size_t i = 0; i < std::min(results.size(), types.outputs.size()); ++i) {
    found.set_output(i, *results[i].shape);
    if (settles_dtypes) types.outputs[i].dtype = results[i].dtype;
  }
  store(types.outputs, outputs);
}

// The same with `extent` for those that are not known; nothing where the rule refuses that.
std::vector<Type> possible_results(const Node& node, std::vector<Type> inputs, int64_t extent) {
  for (Type& input : inputs) std::ranges::replace(*input.shape, int64_t{-1}, extent);
  try {
    return result_types(node, inputs);
  } catch (const Error&) {
    return {};
  }
}

// What does not depend on an unknown extent is the same for two of them: for the least, below which nothing is cut off,
// and for one that can be divided by many.
constexpr int64_t kOneExtent = 1, kAnotherExtent = 5040;

// Of results about which operators themselves say nothing that follows from a part of the extents.
void infer_around_unknown(const Node& node, NodeTypes& types) {
  const auto has_shape = [](const Type& t) { return t.shape.has_value(); };
  if (all_known(types.outputs, has_shape) || !all_known(types.inputs, has_shape)) return;
  const std::vector<Type> first = possible_results(node, types.inputs, kOneExtent);
  const std::vector<Type> second = possible_results(node, types.inputs, kAnotherExtent);
  Shapes outputs = shapes_of(types.outputs);
  Completion found(node.label->name.c_str(), {}, outputs);
  for (size_t i = 0; i < std::min({first.size(), second.size(), outputs.size()}); ++i) {
    if (outputs[i]) continue;
    Shape shape = *first[i].shape;
    const Shape& other = *second[i].shape;
    if (shape.size() != other.size()) continue;
    for (size_t k = 0; k < shape.size(); ++k)
      if (shape[k] != other[k]) shape[k] = -1;
    found.set_output(i, shape);
  }
  store(types.outputs, outputs);
}

void infer_shapes(const Node& node, NodeTypes& types) {
  Shapes inputs = shapes_of(types.inputs), outputs = shapes_of(types.outputs);
  complete(node, inputs, outputs);
  store(types.inputs, inputs);
  store(types.outputs, outputs);
  if (shapes_known(types.inputs))
    infer_from_rule(node, types);
  else
    infer_around_unknown(node, types);
}

// --- dtypes ----------------------------------------------------------------------------------------------------------

// Those of the results where inputs whose dtype is not known hold `other`.
std::vector<DType> dtypes_of_results(const Node& node, const NodeTypes& types, DType other) {
  std::vector<DType> inputs, results;
  for (const Type& input : types.inputs) inputs.push_back(input.dtype.value_or(other));
  for (size_t k = 0; k < types.outputs.size(); ++k) results.push_back(result_dtype(*node.op, *node.attrs, inputs, k));
  return results;
}

// The same; nothing where the inputs would not go together.
std::vector<DType> possible_dtypes(const Node& node, const NodeTypes& types, DType other) {
  try {
    return dtypes_of_results(node, types, other);
  } catch (const Error&) {
    return {};
  }
}

// What does not depend on an unknown dtype is the same for two of them.
constexpr DType kOneDType = DType::kFloat16, kAnotherDType = DType::kFloat64;

// Whether the first result holds what the inputs hold, whatever that is.
bool keeps_dtype(const Node& node, NodeTypes types) {
  for (Type& input : types.inputs) input.dtype.reset();
  return std::ranges::all_of(std::array{kOneDType, kAnotherDType}, [&](DType dtype) {
    const std::vector<DType> results = possible_dtypes(node, types, dtype);
    return !results.empty() && results[0] == dtype;
  });
}

// Whether the first result holds what input i holds, whatever the others do.
bool follows(const Node& node, size_t i) {
  NodeTypes types{.inputs = std::vector<Type>(node.inputs.size()), .outputs = std::vector<Type>(1)};
  return std::ranges::all_of(std::array{kOneDType, kAnotherDType}, [&](DType dtype) {
    types.inputs[i].dtype = dtype;
    const std::vector<DType> results = possible_dtypes(node, types, DType::kInt32);
    return !results.empty() && results[0] == dtype;
  });
}

// A parameter that alone makes out the dtype of results holds what the attribute "dtype" says, as tables of embeddings
// do. Others hold what the data hold; statistics and what goes with them, and parameters of integers, float32. Other
// results beside data are what their own operators say, unless the two are combined element by element.
void complete_input_dtypes(const Node& node, std::vector<Type>& inputs) {
  const auto is_parameter = [&](size_t i) {
    const Node* source = node.inputs[i].node().get();
    return source && is_variable(*source);
  };
  if (const Quantization* q = node.op->quantization.get(); q && q->holds_int8)
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].dtype && q->holds_int8(*node.attrs, i)) inputs[i].dtype = DType::kInt8;
  const std::optional<DType> asked = node.op->result_dtype ? asked_dtype(*node.attrs) : std::nullopt;
  for (size_t i = 1; asked && i < inputs.size() && inputs[0].dtype; ++i)
    if (!inputs[i].dtype && is_parameter(i) && follows(node, i)) inputs[i].dtype = asked;
  const auto known = std::ranges::find_if(inputs, [](const Type& t) { return t.dtype.has_value(); });
  if (known == inputs.end()) return;
  DType dtype = *known->dtype;
  const bool is_elementwise = node.op->pointwise && inputs.size() == 2;
  const bool keeps_float32 = node.op->mutates != kNothing && dtype != DType::kFloat64;
  if ((!is_floating(dtype) && !is_elementwise) || (keeps_float32 && known == inputs.begin())) dtype = DType::kFloat32;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].dtype && (is_elementwise || is_parameter(i))) inputs[i].dtype = dtype;
}

void infer_dtypes(const Node& node, NodeTypes& types) {
  if (!types.inputs.empty() && !types.inputs[0].dtype && types.outputs[0].dtype && keeps_dtype(node, types))
    types.inputs[0].dtype = types.outputs[0].dtype;
  complete_input_dtypes(node, types.inputs);
  if (dtypes_known(types.outputs)) return;
  const bool all_known = dtypes_known(types.inputs);
  const auto first = all_known ? dtypes_of_results(node, types, kOneDType) : possible_dtypes(node, types, kOneDType);
  const auto second = all_known ? first : possible_dtypes(node, types, kAnotherDType);
  for (size_t k = 0; k < std::min(first.size(), second.size()); ++k)
    if (first[k] == second[k]) types.outputs[k].dtype = first[k];
}

// --- operators without inputs ----------------------------------------------------------------------------------------

void infer_declared(const Node& node, const Shape& declared, Type& type) {
  Shapes shapes{type.shape};
  Completion(node.label->name.c_str(), {}, shapes).set_output(0, declared);
  type.shape = shapes[0];
  type.dtype = result_dtype(*node.op, *node.attrs, {}, 0);
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

namespace {

// The value of a field of the node's operator; nothing where it has none.
template <class T>
std::optional<T> field_value(const Node& node, const char* name) {
  const FieldInfo* field = node.op->schema->find(name);
  if (!field) return std::nullopt;
  const AttrValue value = field->get(node.attrs->data());
  const T* found = std::get_if<T>(&value);
  return found ? std::optional<T>(*found) : std::nullopt;
}

double number_or(const Node& node, const char* name, double otherwise) {
  if (const auto whole = field_value<int64_t>(node, name)) return static_cast<double>(*whole);
  return field_value<double>(node, name).value_or(otherwise);
}

// A range without an end, which is as long as its users need.
bool is_open_range(const Node& node) {
  return field_value<bool>(node, "infer_range").value_or(false) && std::isnan(number_or(node, "stop", kNan));
}

double end_of_range(const Node& node, const Shape& shape) {
  check(shape.size() == 1, ErrorKind::kRuntime, "{}: a range has one axis, but shape {} is needed", node.op->name,
        to_string(shape));
  const double values = std::ceil(static_cast<double>(shape[0]) / number_or(node, "repeat", 1));
  return number_or(node, "start", 0) + number_or(node, "step", 1) * values;
}

}  // namespace

std::optional<Shape> declared_shape(const Node& node) {
  if (!node.op || !node.inputs.empty() || output_count(node) != 1) return std::nullopt;
  if (is_open_range(node)) return Shape{-1};
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
  const bool is_range = is_open_range(node);
  const std::string_view closed = is_range ? "stop" : "shape";
  for (const FieldInfo& field : node.op->schema->fields) {
    AttrValue value = field.get(node.attrs->data());
    if (field.name == closed) value = is_range ? AttrValue(end_of_range(node, shape)) : AttrValue(shape);
    if (!std::holds_alternative<std::monostate>(value) || field.nullable)
      field.set(made->mutable_data(), value, field, node.op->name.c_str());
  }
  return AttrsPtr(made.get());
}

}  // namespace headrace
