#include "op/expect.h"
#include "op/rule.h"

namespace headrace {

void expect_shape(const Infer& i, size_t k, const Shape& shape) {
  if (k >= i.input_count()) return;
  i.require(i.shape(k) == shape, ErrorKind::kRuntime, "input {} must have shape {}, got {}", k, to_string(shape),
            to_string(i.shape(k)));
}

void expect_type(const Infer& i, size_t k, const Shape& shape, DType dtype) {
  expect_shape(i, k, shape);
  i.require(i.dtype(k) == dtype, ErrorKind::kRuntime, "input {} must hold {}, got {}", k, dtype_name(dtype),
            dtype_name(i.dtype(k)));
}

void expect_extents(const Infer& i, const Shape& shape) {
  for (int64_t extent : shape)
    i.require(extent >= 0, ErrorKind::kValue, "shape {} has a negative extent", to_string(shape));
}

void expect_floats(const Infer& i, size_t k) {
  i.require(is_floating(i.dtype(k)), ErrorKind::kType, "input {} must hold floats, got {}; convert it with astype", k,
            dtype_name(i.dtype(k)));
}

}  // namespace headrace
