#include "ops/quantization/ranges.h"

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "op/expect.h"
#include "op/formula/transfer.h"

namespace headrace {
namespace {

constexpr int64_t kTile = 256;

template <class T>
void put(const float* from, T* to, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    if constexpr (std::is_same_v<T, float>)
      to[k] = from[k];
    else
      to[k] = saturated<T>(from[k]);
  }
}

void put(const float* from, const Tensor& out, int64_t at, int64_t n) {
  switch (out.dtype) {
    case DType::kInt8:
      return put(from, out.as<int8_t>() + at, n);
    case DType::kUint8:
      return put(from, out.as<uint8_t>() + at, n);
    case DType::kInt32:
      return put(from, out.as<int32_t>() + at, n);
    default:
      return put(from, out.as<float>() + at, n);
  }
}

}  // namespace

void rescale(const Tensor& in, float scale, float shift, const Tensor& out) {
  const Load load = load_function(in.dtype, ComputeType::kFloat32);
  parallel_for((in.size + kTile - 1) / kTile, 16, static_cast<double>(in.size), [&](int64_t begin, int64_t end) {
    float tile[kTile];
    for (int64_t at = begin * kTile; at < std::min(end * kTile, in.size); at += kTile) {
      const int64_t n = std::min(kTile, in.size - at);
      load(tile, in.as<char>() + static_cast<size_t>(at) * item_size(in.dtype), 1, n);
      for (int64_t k = 0; k < n; ++k) tile[k] = tile[k] * scale + shift;
      put(tile, out, at, n);
    }
  });
}

std::pair<float, float> extremes_of(const Tensor& tensor) {
  if (tensor.size == 0) return {0, 0};
  const Load load = load_function(tensor.dtype, ComputeType::kFloat32);
  float tile[kTile], low = kInf, high = -kInf;
  for (int64_t at = 0; at < tensor.size; at += kTile) {
    const int64_t n = std::min(kTile, tensor.size - at);
    load(tile, tensor.as<char>() + static_cast<size_t>(at) * item_size(tensor.dtype), 1, n);
    for (int64_t k = 0; k < n; ++k) {
      low = std::min(low, tile[k]);
      high = std::max(high, tile[k]);
    }
  }
  return {low, high};
}

float product_range(DType a, float range_a, float range_b) {
  return range_a / 127 * (range_b / (a == DType::kUint8 ? 255.0f : 127.0f)) * kInt32Range;
}

void expect_quantized(const Infer& i, size_t k) {
  i.require(i.dtype(k) == DType::kInt8 || i.dtype(k) == DType::kUint8, ErrorKind::kRuntime,
            "input {} must hold int8 or uint8, got {}; quantize it with contrib.quantize_v2", k,
            dtype_name(i.dtype(k)));
}

void expect_numbers(const Infer& i, size_t first) {
  for (size_t k = first; k < i.input_count(); ++k)
    i.require(i.size(k) == 1 && i.dtype(k) == DType::kFloat32, ErrorKind::kRuntime,
              "input {} must be one float32, the end of a range; got {} of shape {}", k, dtype_name(i.dtype(k)),
              to_string(i.shape(k)));
}

SampleArray bytes(Shape shape, DType dtype) {
  const bool is_signed = dtype == DType::kInt8;
  return integers(std::move(shape), is_signed ? -128 : 0, is_signed ? 128 : 256, dtype);
}

void quantized_outputs(Infer& i, const Shape& shape, DType dtype) {
  i.output(shape, dtype);
  for (int k = 0; k < 2; ++k) i.output(Shape{1}, DType::kFloat32);
}

void write_range(const KernelContext& c, float low, float high) {
  *c.output(1).as<float>() = low;
  *c.output(2).as<float>() = high;
}

}  // namespace headrace
