#include "ops/linalg/matrix.h"

#include "op/copy_part.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/linalg/dot.h"
#include "ops/shape/geometry.h"

namespace headrace {

MatrixStack as_matrix(KernelContext& context, const Tensor& tensor, size_t row_axes) {
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) (i < row_axes ? rows : columns) *= tensor.shape[i];
  Geometry flat;
  if (reshaped({tensor.shape, tensor.strides, 0}, Shape{rows, columns}, flat))
    return {tensor.data, flat.strides[0], flat.strides[1], {}};
  return {packed_data(context, tensor), columns, 1, {}};
}

const void* packed_data(KernelContext& context, const Tensor& tensor) {
  if (is_contiguous(tensor.shape, tensor.strides)) return tensor.data;
  void* packed = context.workspace(static_cast<size_t>(tensor.size) * item_size(tensor.dtype));
  copy_elements(context, packed, contiguous_strides(tensor.shape), tensor.data, tensor.strides, tensor.shape,
                tensor.dtype);
  return packed;
}

MatrixStack transposed(const MatrixStack& matrix) {
  return {matrix.data, matrix.column_stride, matrix.row_stride, matrix.batch_strides};
}

void require_same_dtype(const Infer& i) {
  i.require(i.dtype(0) == i.dtype(1), ErrorKind::kRuntime,
            "the arrays hold {} and {}; arrays of one dtype are needed, so convert one with astype",
            dtype_name(i.dtype(0)), dtype_name(i.dtype(1)));
}

NDArray reshaped_to(const NDArray& array, Shape shape) {
  return call("_reshape_to", {array}, {{"shape", std::move(shape)}});
}

NDArray matrix_of(const NDArray& array, int64_t rows, int64_t columns) {
  if (rows < 0) rows = columns == 0 ? 0 : array.size() / columns;
  if (columns < 0) columns = rows == 0 ? 0 : array.size() / rows;
  Shape shape{rows, columns};
  return array.shape() == shape ? array : reshaped_to(array, std::move(shape));
}

namespace {
const OpDef& dot_op() {
  static const OpDef& op = find_op("dot");
  return op;
}
}  // namespace

NDArray product(const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b) {
  return call(dot_op(), make_attrs(DotAttrs{transpose_a, transpose_b}), {a, b});
}

void set_product(Gradient& g, size_t i, const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b) {
  const Shape& shape = g.input(i).shape();
  NDArray inputs[2] = {a, b};
  if (shape.size() == 2) {
    g.set(i, dot_op(), make_attrs(DotAttrs{transpose_a, transpose_b}), inputs);
  } else {
    g.set(i, reshaped_to(product(a, b, transpose_a, transpose_b), shape));
  }
}

}  // namespace headrace
