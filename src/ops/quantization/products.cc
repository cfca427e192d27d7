#include "ops/quantization/products.h"

#include <cmath>

#include "backend/cpu/parallel.h"
#include "ops/linalg/gemm.h"

namespace headrace {
namespace {

int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

}  // namespace

const float* floats_of(KernelContext& c, const Tensor& bytes) {
  auto* floats = c.workspace<float>(bytes.size);
  parallel_for(bytes.size, 4096, 0.3 * static_cast<double>(bytes.size), [&](int64_t begin, int64_t end) {
    if (bytes.dtype == DType::kInt8)
      std::copy(bytes.as<const int8_t>() + begin, bytes.as<const int8_t>() + end, floats + begin);
    else
      std::copy(bytes.as<const uint8_t>() + begin, bytes.as<const uint8_t>() + end, floats + begin);
  });
  return floats;
}

int64_t exact_sums(DType dtype) { return dtype == DType::kInt8 ? 1024 : 512; }  // of 128 * 128 or 255 * 128

void add_wrapped(int32_t* sums, const float* integers, int64_t count) {
  parallel_for(count, 4096, 0.5 * static_cast<double>(count), [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) sums[i] = wrapped_sum(sums[i], static_cast<int32_t>(integers[i]));
  });
}

// Sums of a few hundred products are exact in any order: the fast product of float matrices gives them, part after part
// of the rows.
void exact_products(KernelContext& c, DType dtype, const float* a, const float* b, int64_t m, int64_t n, int64_t k,
                    int32_t* out) {
  const int64_t longest = exact_sums(dtype);
  std::fill_n(out, m * n, 0);
  if (m * n == 0 || k == 0) return;
  auto* part = c.workspace<float>(m * n);
  for (int64_t begin = 0; begin < k; begin += longest) {
    Gemm g{.dtype = DType::kFloat32, .m = m, .n = n, .k = std::min(longest, k - begin), .c = part};
    g.a = {a + begin, k, 1, {}};
    g.b = {b + begin, 1, k, {}};
    gemm(c, g);
    add_wrapped(out, part, m * n);
  }
}

void scale_sums(int32_t* sums, float scale, int64_t count) {
  if (scale == 1) return;
  parallel_for(count, 4096, 0.5 * static_cast<double>(count), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      sums[i] = static_cast<int32_t>(std::nearbyint(static_cast<double>(sums[i]) * scale));
  });
}

void add_to_rows(int32_t* sums, const int32_t* numbers, int64_t m, int64_t n) {
  parallel_for(m, 8, 0.5 * static_cast<double>(m * n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t k = 0; k < n; ++k) sums[r * n + k] = wrapped_sum(sums[r * n + k], numbers[k]);
  });
}

void add_to_channels(int32_t* sums, const int32_t* numbers, int64_t images, int64_t channels, int64_t plane) {
  parallel_for(images * channels, 8, 0.5 * static_cast<double>(images * channels * plane),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r)
                   for (int64_t k = 0; k < plane; ++k)
                     sums[r * plane + k] = wrapped_sum(sums[r * plane + k], numbers[r % channels]);
               });
}

}  // namespace headrace
