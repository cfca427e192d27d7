// What rules ask of inputs that the kernel trusts: those of an operator that others call, after their own checks, and
// that a file may call as well.
#pragma once

#include "op/op_def.h"
#include "op/rule.h"

namespace headrace {

// Refuses another shape of input `k`; an input that is optional and missing passes.
void expect_shape(const Infer& i, size_t k, const Shape& shape);
// Refuses another dtype as well.
void expect_type(const Infer& i, size_t k, const Shape& shape, DType dtype);
// Refuses a shape with negative extents, as attributes may have.
void expect_extents(const Infer& i, const Shape& shape);
// Refuses integers.
void expect_floats(const Infer& i, size_t k);

}  // namespace headrace
