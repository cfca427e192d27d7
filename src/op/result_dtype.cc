#include "op/result_dtype.h"

#include "op/op_def.h"
#include "op/pointwise.h"

namespace headrace {

std::optional<DType> asked_dtype(const Attrs& attrs) {
  const FieldInfo* field = attrs.schema().find("dtype");
  if (!field || field->kind != FieldKind::kDType) return std::nullopt;
  const AttrValue value = field->get(attrs.data());
  const DType* dtype = std::get_if<DType>(&value);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

DType result_dtype(const OpDef& op, const Attrs& attrs, std::span<const DType> inputs, size_t k) {
  if (op.result_dtype) return op.result_dtype(inputs, attrs, k);
  if (op.pointwise) return op.pointwise->types(op.shown_name(), inputs, attrs).result;
  if (const std::optional<DType> asked = asked_dtype(attrs)) return *asked;
  return inputs.empty() ? DType::kFloat32 : inputs[0];
}

std::function<DType(std::span<const DType>, const Attrs&, size_t)> result_dtypes::asked_or(DType dtype) {
  return [dtype](std::span<const DType>, const Attrs& attrs, size_t) { return asked_dtype(attrs).value_or(dtype); };
}

DType result_dtypes::floating(std::span<const DType> inputs, const Attrs& attrs, size_t) {
  if (const std::optional<DType> asked = asked_dtype(attrs)) return *asked;
  return is_floating(inputs[0]) ? inputs[0] : DType::kFloat32;
}

DType result_dtypes::counting(std::span<const DType> inputs, const Attrs& attrs, size_t) {
  return asked_dtype(attrs).value_or(inputs[0] == DType::kBool ? DType::kInt64 : inputs[0]);
}

}  // namespace headrace
