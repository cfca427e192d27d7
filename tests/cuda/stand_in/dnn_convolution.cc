// What the stand-in's cuDNN computes, by plain loops.
#if __has_include(<cudnn_graph.h>)

#include <functional>
#include <numeric>

#include "tests/cuda/stand_in/dnn_descriptor.h"
#include "tests/cuda/stand_in/elements.h"

namespace stand_in {
namespace {

using Numbers = std::vector<int64_t>;

cudaDataType_t element_type(cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF ? CUDA_R_16F : type == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
}

size_t item(cudnnDataType_t type) { return type == CUDNN_DATA_FLOAT ? 4 : 2; }

int64_t count(const Numbers& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// The place of the number-th of all index vectors of a shape.
Numbers place(int64_t number, const Numbers& shape) {
  Numbers made(shape.size());
  for (size_t d = shape.size(); d-- > 0; number /= shape[d]) made[d] = number % shape[d];
  return made;
}

int64_t offset(const Numbers& at, const Tensor& tensor) {
  return std::inner_product(at.begin(), at.end(), tensor.strides.begin(), int64_t{0});
}

Tensor tensor_of(const Descriptor& operation, cudnnBackendAttributeName_t name) {
  const Descriptor& from = operation.other(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Tensor made{.id = from.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID),
              .alignment = from.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT),
              .type = from.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
              .shape = from.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
              .strides = from.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)};
  if (made.shape.size() < 4 || made.shape.size() > 5 || made.strides.size() != made.shape.size())
    violation("cuDNN: a tensor of %zu extents and %zu strides", made.shape.size(), made.strides.size());
  if (bytes_of(made) != static_cast<size_t>(count(made.shape)) * item(made.type))
    violation("cuDNN: a tensor with gaps");
  if (made.alignment < static_cast<int64_t>(item(made.type)) || made.alignment % 2 != 0)
    violation("cuDNN: an alignment of %ld bytes", static_cast<long>(made.alignment));
  return made;
}

void check_shapes(const Convolution& c) {
  const size_t rank = c.x.shape.size();
  if (c.w.shape.size() != rank || c.y.shape.size() != rank || c.stride.size() != rank - 2 ||
      c.dilate.size() != rank - 2 || c.before.size() != rank - 2 || c.after.size() != rank - 2)
    violation("cuDNN: a convolution of tensors with %zu extents", rank);
  if (c.w.type != c.x.type || c.y.type != c.x.type) violation("cuDNN: a convolution of several types");
  const int64_t groups = c.x.shape[1] / c.w.shape[1];
  if (groups * c.w.shape[1] != c.x.shape[1] || c.w.shape[0] % groups != 0 || c.y.shape[1] != c.w.shape[0] ||
      c.y.shape[0] != c.x.shape[0])
    violation("cuDNN: the channels of a convolution do not fit");
  for (size_t d = 0; d < rank - 2; ++d) {
    const int64_t span = c.dilate[d] * (c.w.shape[d + 2] - 1) + 1;
    const int64_t room = c.x.shape[d + 2] + c.before[d] + c.after[d] - span;
    if (room < 0 || room / c.stride[d] + 1 != c.y.shape[d + 2]) violation("cuDNN: a convolution's extents do not fit");
  }
}

struct Names {
  cudnnBackendAttributeName_t x, w, y, window, alpha, beta;
};

Names names_of(cudnnBackendDescriptorType_t pass) {
  switch (pass) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      violation("cuDNN: an operation of type %d", pass);
  }
}

}  // namespace

size_t bytes_of(const Tensor& tensor) {
  int64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] < 1 || tensor.strides[d] < 1) violation("cuDNN: an extent or a stride is not positive");
    last += (tensor.shape[d] - 1) * tensor.strides[d];
  }
  return static_cast<size_t>(last + 1) * item(tensor.type);
}

Convolution convolution_of(const Descriptor& graph) {
  const Descriptor& operation =
      *reinterpret_cast<const Descriptor*>(graph.one<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS));
  const Names names = names_of(operation.type);
  if (operation.one<float>(names.alpha) != 1 || operation.one<float>(names.beta) != 0)
    violation("cuDNN: a convolution with factors");
  const Descriptor& window = operation.other(names.window, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  if (window.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT ||
      window.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) != CUDNN_CROSS_CORRELATION)
    violation("cuDNN: a convolution that is turned, or is not summed in float32");
  Convolution made{.pass = operation.type,
                   .x = tensor_of(operation, names.x),
                   .w = tensor_of(operation, names.w),
                   .y = tensor_of(operation, names.y),
                   .stride = window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
                   .dilate = window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
                   .before = window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
                   .after = window.all<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)};
  if (window.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) != static_cast<int64_t>(made.stride.size()))
    violation("cuDNN: the number of spatial axes is another one");
  check_shapes(made);
  return made;
}

void compute(const Convolution& c, char* x, char* w, char* y) {
  const bool to_x = c.pass == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const bool to_w = c.pass == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
  const Tensor& target = to_x ? c.x : to_w ? c.w : c.y;
  char* const result = to_x ? x : to_w ? w : y;
  const cudaDataType_t type = element_type(c.x.type);
  const int64_t filters = c.w.shape[0] / (c.x.shape[1] / c.w.shape[1]);  // of a group
  std::vector<double> sums(static_cast<size_t>(count(target.shape)));
  const Numbers taps(c.w.shape.begin() + 1, c.w.shape.end());
  for (int64_t i = 0; i < count(c.y.shape); ++i) {
    const Numbers at = place(i, c.y.shape);
    for (int64_t t = 0; t < count(taps); ++t) {
      Numbers tap = place(t, taps), from(at.size());
      tap.insert(tap.begin(), at[1]);
      from[0] = at[0];
      from[1] = at[1] / filters * c.w.shape[1] + tap[1];
      bool is_inside = true;
      for (size_t d = 2; d < at.size(); ++d) {
        from[d] = at[d] * c.stride[d - 2] - c.before[d - 2] + tap[d] * c.dilate[d - 2];
        is_inside = is_inside && from[d] >= 0 && from[d] < c.x.shape[d];
      }
      if (!is_inside) continue;
      const int64_t in_x = offset(from, c.x), in_w = offset(tap, c.w), in_y = offset(at, c.y);
      const double left = to_x ? load(type, y, in_y) : load(type, x, in_x);
      const double right = to_w ? load(type, y, in_y) : load(type, w, in_w);
      sums[static_cast<size_t>(to_x ? in_x : to_w ? in_w : in_y)] += left * right;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) store(type, result, static_cast<int64_t>(i), sums[i]);
}

}  // namespace stand_in

#endif
