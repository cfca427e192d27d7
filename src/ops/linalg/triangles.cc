// Diagonals and triangles of square matrices as vectors, and back; sums of logarithms of diagonals.
#include "ops/linalg/triangles.h"

#include <cmath>
#include <cstring>

#include "headrace/arithmetic.hpp"
#include "op/invoke.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

struct DiagonalAttrs {
  int64_t offset = 0;
  static constexpr auto kFields =
      fields(field(&DiagonalAttrs::offset, "offset", "Diagonal above (positive) or below the main one.")
                 .between(-kMostInt, kMostInt));
};

struct TriangleAttrs {
  int64_t offset = 0;
  bool lower = true;
  static constexpr auto kFields =
      fields(field(&TriangleAttrs::offset, "offset",
                   "The diagonal that bounds the triangle: those above (positive) the main one bound upper triangles, "
                   "those below it lower ones.")
                 .between(-kMostInt, kMostInt),
             field(&TriangleAttrs::lower, "lower", "Which triangle, of offset 0."));
};

int64_t side_of(int64_t n, int64_t offset) { return n - std::abs(offset); }

// How many elements are taken from a matrix (n, n).
int64_t length_of(const DiagonalAttrs& a, int64_t n) { return side_of(n, a.offset); }
int64_t length_of(const TriangleAttrs& a, int64_t n) {
  const int64_t side = side_of(n, a.offset);
  return side * (side + 1) / 2;
}

// The n of the matrices that vectors of this length are put into; 0 when there are none.
int64_t extent_for(const DiagonalAttrs& a, int64_t length) { return length + std::abs(a.offset); }
int64_t extent_for(const TriangleAttrs& a, int64_t length) {
  const auto side = static_cast<int64_t>(std::floor(std::sqrt(2 * static_cast<double>(length) + 0.25)));
  for (int64_t s = std::max<int64_t>(side - 1, 0); s <= side + 1; ++s)
    if (s * (s + 1) / 2 == length) return s + std::abs(a.offset);
  return 0;
}

// Calls visit(index in the vector, index in the matrix) for all elements, in the order of the vector.
template <class F>
void for_places(const MatrixPlaces& places, int64_t n, F&& visit) {
  const int64_t side = side_of(n, places.offset);
  if (places.is_diagonal) {
    const int64_t first = places.offset < 0 ? -places.offset * n : places.offset;
    for (int64_t i = 0; i < side; ++i) visit(i, first + i * (n + 1));
    return;
  }
  int64_t i = 0;
  for (int64_t line = 0; line < side; ++line)
    for (int64_t k = 0; k <= line; ++k)
      visit(i++, places.is_upper ? k * n + line + places.offset : (line + places.offset) * n + k);
}

template <class A>
void infer_extract(Infer& i, const A& a) {
  expect_square_matrices(i);
  Shape shape = batch_shape(i.shape(0));
  const int64_t n = i.shape(0).back();
  i.require(side_of(n, a.offset) > 0, ErrorKind::kRuntime, "offset {} lies outside matrices of shape {}", a.offset,
            to_string(i.shape(0)));
  shape.push_back(length_of(a, n));
  i.output(shape, i.dtype(0));
}

template <class A>
void infer_make(Infer& i, const A& a) {
  Shape shape = i.shape(0);
  i.require(i.dtype(0) == DType::kFloat32 || i.dtype(0) == DType::kFloat64, ErrorKind::kRuntime,
            "float32 or float64 is needed, got {}; convert the array with astype", dtype_name(i.dtype(0)));
  i.require(!shape.empty(), ErrorKind::kRuntime, "vectors are needed, got shape {}", to_string(shape));
  const int64_t n = extent_for(a, shape.back());
  i.require(n > 0 || shape.back() == 0, ErrorKind::kRuntime, "{} elements fill no triangle: 1, 3, 6, 10, ... do",
            shape.back());
  i.require(n <= static_cast<int64_t>(kMostInt), ErrorKind::kRuntime,
            "matrices may have 2147483647 rows and columns, got offset {}", a.offset);
  shape.back() = n;
  shape.push_back(n);
  i.output(shape, i.dtype(0));
}

MatrixPlaces places_of(const DiagonalAttrs& a) { return {.is_diagonal = true, .is_upper = false, .offset = a.offset}; }
MatrixPlaces places_of(const TriangleAttrs& a) {
  return {.is_diagonal = false, .is_upper = a.offset > 0 || (a.offset == 0 && !a.lower), .offset = std::abs(a.offset)};
}

void extract_on_host(KernelContext& c, const MatrixPlaces& places) {
  const Tensor &in = c.input(0), &out = c.output(0);
  if (out.size == 0) return;
  const Stack s = stack_of(in.shape);
  const int64_t length = out.shape.back();
  for_matrices(c, s.count, static_cast<double>(10 * length), [&]<class T>(int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* matrix = in.as<const T>() + k * s.size();
      T* vector = out.as<T>() + k * length;
      for_places(places, s.rows, [&](int64_t to, int64_t from) { vector[to] = matrix[from]; });
    }
  });
}

void make_on_host(KernelContext& c, const MatrixPlaces& places) {
  const Tensor &in = c.input(0), &out = c.output(0);
  if (out.size == 0) return;
  const Stack s = stack_of(out.shape);
  const int64_t length = in.shape.back();
  for_matrices(c, s.count, static_cast<double>(s.size()), [&]<class T>(int64_t begin, int64_t end) {
    std::memset(out.as<T>() + begin * s.size(), 0, static_cast<size_t>((end - begin) * s.size()) * sizeof(T));
    for (int64_t k = begin; k < end; ++k) {
      const T* vector = in.as<const T>() + k * length;
      T* matrix = out.as<T>() + k * s.size();
      for_places(places, s.rows, [&](int64_t from, int64_t to) { matrix[to] = vector[from]; });
    }
  });
}

// `part` is diag or trian. Extracting and making are each other's gradient.
template <class A>
OpDef extract(const std::string& part, const char* doc, std::vector<Sample> samples) {
  return general<A>(
      {.name = "_linalg_extract" + part,
       .aliases = {"linalg_extract" + part},
       .python = {"nd.linalg.extract" + part, "nd.linalg_extract" + part},
       .doc = doc,
       .inputs = {"A"},
       .infer = infer_extract<A>,
       .kernel = [](KernelContext& c, const A& a) { extract_places(c, places_of(a)); },
       .gradient = [part](Gradient& g,
                          const A&) { g.set(0, call(find_op("_linalg_make" + part), g.attrs(), {g.head()})); },
       .saves_inputs = kNothing,
       .samples = std::move(samples)});
}

template <class A>
OpDef make(const std::string& part, const char* doc, std::vector<Sample> samples) {
  return general<A>(
      {.name = "_linalg_make" + part,
       .aliases = {"linalg_make" + part},
       .python = {"nd.linalg.make" + part, "nd.linalg_make" + part},
       .doc = doc,
       .inputs = {"A"},
       .infer = infer_make<A>,
       .kernel = [](KernelContext& c, const A& a) { make_places(c, places_of(a)); },
       .gradient = [part](Gradient& g,
                          const A&) { g.set(0, call(find_op("_linalg_extract" + part), g.attrs(), {g.head()})); },
       .saves_inputs = kNothing,
       .samples = std::move(samples)});
}

void logs_on_host(KernelContext& c) {
  const Stack s = stack_of(c.input(0).shape);
  for_matrices(c, s.count, 30.0 * s.rows, [&]<class T>(int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* matrix = c.input(0).as<const T>() + k * s.size();
      double sum = 0;
      for (int64_t i = 0; i < s.rows; ++i) sum += std::log(matrix[i * (s.rows + 1)]);
      c.output(0).as<T>()[k] = static_cast<T>(sum);
    }
  });
}

OpDef sum_log_diag() {
  return general<>({.name = "_linalg_sumlogdiag",
                    .aliases = {"linalg_sumlogdiag"},
                    .python = {"nd.linalg.sumlogdiag", "nd.linalg_sumlogdiag"},
                    .doc = R"(Sums of the logarithms of the diagonals of square matrices.

The matrices (..., n, n) are in the last two axes, of float32 or float64. One matrix gives shape (1,). Raises
MXNetError for other shapes and dtypes.)",
                    .inputs = {"A"},
                    .infer =
                        [](Infer& i, const NoAttrs&) {
                          expect_square_matrices(i);
                          const Shape batch = batch_shape(i.shape(0));
                          i.output(batch.empty() ? Shape{1} : batch, i.dtype(0));
                        },
                    .kernel = [](KernelContext& c, const NoAttrs&) { sum_logs_of_diagonals(c); },
                    .gradient =
                        [](Gradient& g, const NoAttrs&) {
                          const NDArray& matrices = g.input(0);
                          if (matrices.size() == 0) return g.set(0, zeros_like(matrices));
                          const NDArray line = call("_linalg_extractdiag", {matrices});
                          Shape column = batch_shape(matrices.shape());
                          column.push_back(1);
                          const NDArray head = call("_reshape_to", {g.head()}, {{"shape", column}});
                          g.set(0, call("_linalg_makediag", {head / line}));
                        },
                    .samples = {uniform({3, 3}, 0.5, 2), uniform({2, 2, 2}, 0.5, 2), uniform({2, 0, 0})}});
}

}  // namespace

const decltype(extract_places) extract_places{"extract_places", extract_on_host};
const decltype(make_places) make_places{"make_places", make_on_host};
const decltype(sum_logs_of_diagonals) sum_logs_of_diagonals{"sum_logs_of_diagonals", logs_on_host};

Operators triangle_operators() {
  const auto diagonal = [](int64_t offset) { return make_attrs(DiagonalAttrs{.offset = offset}); };
  const auto triangle = [](int64_t offset, bool lower) {
    return make_attrs(TriangleAttrs{.offset = offset, .lower = lower});
  };
  return {
      extract<DiagonalAttrs>(
          "diag",
          R"(A diagonal of square matrices as vectors: (..., n, n) gives (..., n - |offset|).

The matrices are of float32 or float64. Raises MXNetError for other shapes and dtypes and for a diagonal outside of
them.)",
          {uniform({2, 3, 3}), Sample({uniform({3, 3})}, diagonal(1)), Sample({uniform({3, 3})}, diagonal(-2))}),
      make<DiagonalAttrs>("diag",
                          R"(Matrices of zeros with vectors on a diagonal: (..., n) gives (..., m, m), m = n + |offset|.

The vectors are of float32 or float64. Raises MXNetError for shape () and for other dtypes.)",
                          {uniform({2, 3}), Sample({uniform({2})}, diagonal(1)), Sample({uniform({2})}, diagonal(-2))}),
      extract<TriangleAttrs>(
          "trian",
          R"(A triangle of square matrices as vectors: (..., n, n) gives (..., m (m + 1) / 2), m = n - |offset|.

Lower triangles are read row by row, upper ones column by column. The matrices are of float32 or float64. Raises
MXNetError for other shapes and dtypes and for a triangle outside of them.)",
          {uniform({2, 3, 3}), Sample({uniform({3, 3})}, triangle(0, false)),
           Sample({uniform({3, 3})}, triangle(1, true)), Sample({uniform({3, 3})}, triangle(-1, false))}),
      make<TriangleAttrs>("trian",
                          R"(Matrices of zeros with vectors in a triangle, the reverse of extracttrian.

(..., m (m + 1) / 2) gives (..., n, n), n = m + |offset|. The vectors are of float32 or float64. Raises MXNetError for
other shapes and dtypes.)",
                          {uniform({2, 6}), Sample({uniform({3})}, triangle(0, false)),
                           Sample({uniform({3})}, triangle(1, true)), Sample({uniform({3})}, triangle(-1, false))}),
      sum_log_diag()};
}

}  // namespace headrace
