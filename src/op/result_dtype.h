// The dtypes of an operator's results from those of its inputs alone, for graphs whose shapes are not known yet. Where
// shapes are known the rule that runs (`infer`, a formula, a composition) says the same.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "headrace/dtype.hpp"
#include "op/attrs.h"

namespace headrace {

struct OpDef;

// What the attribute "dtype" says; nothing where there is none or it leaves it open.
std::optional<DType> asked_dtype(const Attrs& attrs);

// Of result k: what OpDef::result_dtype says or the formula; without either what the attribute "dtype" says, or else
// the dtype of the first input (float32 without inputs). Raises what is wrong with the dtypes where the formula does.
DType result_dtype(const OpDef& op, const Attrs& attrs, std::span<const DType> inputs, size_t k);

// Rules for OpDef::result_dtype.
namespace result_dtypes {

inline auto always(DType dtype) {
  return [dtype](std::span<const DType>, const Attrs&, size_t) { return dtype; };
}
inline auto like_input(size_t i) {
  return [i](std::span<const DType> inputs, const Attrs&, size_t) { return inputs[i]; };
}
// What the attribute "dtype" says, or else this.
std::function<DType(std::span<const DType>, const Attrs&, size_t)> asked_or(DType dtype);
// Floats stay what they are, all else gives float32, unless the attribute "dtype" says otherwise.
DType floating(std::span<const DType> inputs, const Attrs& attrs, size_t k);

// Numbers stay what they are, bool gives int64, unless the attribute "dtype" says otherwise.
DType counting(std::span<const DType> inputs, const Attrs& attrs, size_t k);

}  // namespace result_dtypes

}  // namespace headrace
