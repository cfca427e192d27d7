#include "ops/linalg/dense_gemm.h"

#include "backend/cpu/parallel.h"
#include "op/kernel.h"
#include "ops/linalg/dense_kernels.h"

namespace headrace {
namespace {

// y = matrix x, the matrix having `rows` rows and k columns.
struct MatrixVector {
  MatrixStack matrix, vector;  // the vector's row_stride steps along it
  int64_t rows, k;
};

MatrixVector as_matrix_vector(const Gemm& g) {
  if (g.n == 1) return {g.a, g.b, g.m, g.k};
  MatrixStack matrix = g.b, vector = g.a;
  std::swap(matrix.row_stride, matrix.column_stride);
  std::swap(vector.row_stride, vector.column_stride);
  return {matrix, vector, g.n, g.k};
}

template <class T>
const T* packed_vector(KernelContext& context, const T* x, int64_t stride, int64_t k) {
  if (stride == 1 || k == 1) return x;
  T* packed = context.workspace<T>(k);
  for (int64_t p = 0; p < k; ++p) packed[p] = x[p * stride];
  return packed;
}

template <class T>
void add_bias(const Gemm& g, T* y, int64_t first, int64_t last) {
  const T* bias = static_cast<const T*>(g.bias);
  if (!bias) return;
  for (int64_t i = first; i < last; ++i) y[i] += bias[g.n == 1 ? 0 : i];
}

template <class T>
void multiply(KernelContext& context, const Gemm& g, const MatrixVector& mv) {
  const DenseKernels<T>& kernels = dense_kernels<T>();
  int64_t count = element_count(g.batch);
  double cost = static_cast<double>(mv.rows) * static_cast<double>(mv.k) * sizeof(T) * 0.06;
  for (int64_t index = 0; index < count; ++index) {
    const T* a = static_cast<const T*>(mv.matrix.data) + batch_offset(g.batch, mv.matrix.batch_strides, index);
    const T* x = static_cast<const T*>(mv.vector.data) + batch_offset(g.batch, mv.vector.batch_strides, index);
    x = packed_vector(context, x, mv.vector.row_stride, mv.k);
    T* y = static_cast<T*>(g.c) + index * mv.rows;
    bool by_rows = mv.matrix.column_stride == 1 || mv.k == 1;
    parallel_for(mv.rows, by_rows ? 4 : 64, cost, [&](int64_t begin, int64_t end) {
      if (by_rows) {
        kernels.rows_times_vector(a + begin * mv.matrix.row_stride, mv.matrix.row_stride, x, y + begin, end - begin,
                                  mv.k);
      } else {
        kernels.columns_times_vector(a + begin, mv.matrix.column_stride, x, y + begin, end - begin, mv.k);
      }
      add_bias(g, y, begin, end);
    });
  }
}

// --- float64 ---------------------------------------------------------------------------------------------------------

constexpr int64_t kDepth = 256;     // of the panels that are packed at a time
constexpr int64_t kRowPanels = 16;  // micro tiles that one packed block of a holds

// `k` rows of `width` consecutive columns, the missing ones zero.
void pack_panel(const double* from, int64_t row_stride, int64_t column_stride, int64_t k, int64_t there, int64_t width,
                double* to) {
  for (int64_t p = 0; p < k; ++p, to += width) {
    const double* row = from + p * row_stride;
    if (column_stride == 1)
      std::copy(row, row + there, to);
    else
      for (int64_t j = 0; j < there; ++j) to[j] = row[j * column_stride];
    std::fill(to + there, to + width, 0.0);
  }
}

class DoubleProduct {
 public:
  DoubleProduct(KernelContext& context, const Gemm& g)
      : g_(g),
        kernels_(dense_kernels<double>()),
        columns_(kernels_.micro_columns),
        panels_((g.n + columns_ - 1) / columns_),
        packed_(context.workspace<double>(panels_ * columns_ * std::min(kDepth, g.k))) {}

  void run(const double* a, const double* b, double* c) {
    double cost = gemm_cost(DType::kFloat64, 1, g_.m, g_.n, std::min(kDepth, g_.k));
    for (int64_t first = 0; first < g_.k; first += kDepth) {
      int64_t depth = std::min(kDepth, g_.k - first);
      const double* rows = b + first * g_.b.row_stride;
      parallel_for(panels_, 1, static_cast<double>(panels_ * columns_ * depth), [&](int64_t begin, int64_t end) {
        for (int64_t panel = begin; panel < end; ++panel) {
          int64_t j = panel * columns_;
          pack_panel(rows + j * g_.b.column_stride, g_.b.row_stride, g_.b.column_stride, depth,
                     std::min(columns_, g_.n - j), columns_, packed_ + j * depth);
        }
      });
      constexpr int64_t kBlock = kMicroRows * kRowPanels;
      parallel_for((g_.m + kBlock - 1) / kBlock, 1, cost, [&](int64_t begin, int64_t end) {
        std::vector<double> left(static_cast<size_t>(kBlock * depth));
        for (int64_t block = begin; block < end; ++block)
          block_rows(a + first * g_.a.column_stride, c, block * kBlock, std::min(g_.m, (block + 1) * kBlock), depth,
                     first > 0, left.data());
      });
    }
    if (!g_.bias) return;
    const double* bias = static_cast<const double*>(g_.bias);
    for (int64_t i = 0; i < g_.m; ++i)
      for (int64_t j = 0; j < g_.n; ++j) c[i * g_.n + j] += bias[j];
  }

 private:
  // Rows [begin, end) of c.
  void block_rows(const double* a, double* c, int64_t begin, int64_t end, int64_t depth, bool add, double* left) const {
    for (int64_t i = begin; i < end; i += kMicroRows)
      pack_panel(a + i * g_.a.row_stride, g_.a.column_stride, g_.a.row_stride, depth, std::min(kMicroRows, end - i),
                 kMicroRows, left + (i - begin) * depth);
    for (int64_t panel = 0; panel < panels_; ++panel) {
      int64_t j = panel * columns_, width = std::min(columns_, g_.n - j);
      for (int64_t i = begin; i < end; i += kMicroRows) {
        const double *x = left + (i - begin) * depth, *y = packed_ + j * depth;
        double* to = c + i * g_.n + j;
        int64_t height = std::min(kMicroRows, end - i);
        if (height == kMicroRows && width == columns_)
          kernels_.micro_tile(depth, x, y, to, g_.n, add);
        else
          edge_tile(depth, x, y, to, height, width, add);
      }
    }
  }

  void edge_tile(int64_t depth, const double* x, const double* y, double* to, int64_t height, int64_t width,
                 bool add) const {
    constexpr int64_t kMostColumns = 64;
    double tile[kMicroRows * kMostColumns];
    kernels_.micro_tile(depth, x, y, tile, columns_, false);
    for (int64_t r = 0; r < height; ++r)
      for (int64_t j = 0; j < width; ++j) to[r * g_.n + j] = (add ? to[r * g_.n + j] : 0) + tile[r * columns_ + j];
  }

  const Gemm& g_;
  const DenseKernels<double>& kernels_;
  int64_t columns_, panels_;
  double* packed_;
};

}  // namespace

bool matrix_vector(KernelContext& context, const Gemm& g) {
  MatrixVector mv = as_matrix_vector(g);
  if (mv.matrix.column_stride != 1 && mv.matrix.row_stride != 1 && mv.k != 1) return false;
  if (g.dtype == DType::kFloat32)
    multiply<float>(context, g, mv);
  else
    multiply<double>(context, g, mv);
  return true;
}

void double_gemm(KernelContext& context, const Gemm& g) {
  DoubleProduct product(context, g);
  for (int64_t index = 0; index < element_count(g.batch); ++index)
    product.run(static_cast<const double*>(g.a.data) + batch_offset(g.batch, g.a.batch_strides, index),
                static_cast<const double*>(g.b.data) + batch_offset(g.batch, g.b.batch_strides, index),
                static_cast<double*>(g.c) + index * g.m * g.n);
}

int64_t batch_offset(const Shape& batch, const Strides& strides, int64_t index) {
  int64_t offset = 0;
  for (size_t i = batch.size(); i-- > 0;) {
    offset += index % batch[i] * strides[i];
    index /= batch[i];
  }
  return offset;
}

}  // namespace headrace
