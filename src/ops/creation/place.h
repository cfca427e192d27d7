// What creation operators share: their documentation of `ctx` and `dtype` and the rule for what they make.
#pragma once

#include <optional>
#include <string>

#include "op/expect.h"
#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {

inline constexpr char kCtxDoc[] = "Where the array is made, as \"gpu(0)\"; the current context when None.";
inline constexpr char kDtypeDoc[] = "What the array holds; float32 when None.";

inline void infer_made(Infer& infer, const Shape& shape, std::optional<DType> dtype,
                       const std::optional<std::string>& ctx) {
  expect_extents(infer, shape);
  if (ctx && !ctx->empty()) infer.device(parse_device(*ctx));
  infer.output(shape, dtype.value_or(DType::kFloat32));
}

}  // namespace headrace
