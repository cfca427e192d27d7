// cuSOLVER sees the transposes of matrices, as LAPACK does on the host: what is said there of triangles and sides holds
// here.
#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <vector>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/solver.h"
#include "op/copy_part.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/linalg/decompositions.cuh"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/stacks.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/linalg/decompositions.cuh";

SolverTriangle seen_by_library(bool lower) { return lower ? SolverTriangle::kUpper : SolverTriangle::kLower; }

// work.operator()<T>() for float32 or float64.
template <class F>
void with_type(DType dtype, F&& work) {
  if (dtype == DType::kFloat32)
    work.template operator()<float>();
  else
    work.template operator()<double>();
}

template <class T>
Solver<T> solver_for(KernelContext& c) {
  return Solver<T>(current_cuda_stream(), [&c](size_t bytes) { return c.workspace(bytes); });
}

template <class T>
MatrixBatch<T> batch_at(KernelContext& c, T* first, int64_t count, int64_t size) {
  if (count <= 1) return {first, nullptr, count};
  std::vector<T*> each(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k) each[static_cast<size_t>(k)] = first + k * size;
  const void* const there = copy_to_device(c, std::as_bytes(std::span(each)));
  return {first, static_cast<T**>(const_cast<void*>(there)), count};
}

template <class T>
MatrixBatch<T> stack_batch(KernelContext& c, const Tensor& matrices) {
  const Stack s = stack_of(matrices.shape);
  return batch_at(c, matrices.as<T>(), s.count, s.size());
}

void copy_packed(KernelContext& c, const Tensor& from, void* to) {
  copy_elements(c, to, from.strides, from.data, from.strides, from.shape, from.dtype);
}

// Each matrix column by column, or, from there, row by row.
void copy_turned(KernelContext& c, const Tensor& like, const void* from, void* to, bool from_columns) {
  const Stack s = stack_of(like.shape);
  const Shape shape{s.count, s.rows, s.columns};
  const Strides by_rows{s.size(), s.columns, 1}, by_columns{s.size(), 1, s.rows};
  copy_elements(c, to, from_columns ? by_rows : by_columns, from, from_columns ? by_columns : by_rows, shape,
                like.dtype);
}

using Judge = void (*)(std::string_view op, int64_t matrix, int info);

// The numbers of a stack's matrices, and what they mean when the stream has come here.
class Verdicts {
 public:
  Verdicts(KernelContext& c, int64_t count) : name_(c.name()), count_(count), numbers_(c.workspace<int>(count)) {}

  int* numbers() const noexcept { return numbers_; }
  void judge(Judge judge) const {
    read_on_host(numbers_, static_cast<size_t>(count_) * sizeof(int),
                 [name = name_, count = count_, judge](const void* there) {
                   for (int64_t k = 0; k < count; ++k) judge(name, k, static_cast<const int*>(there)[k]);
                 });
  }

 private:
  const char* name_;  // the operator's, which stays
  int64_t count_;
  int* numbers_;
};

template <class Arguments>
void launch(const char* function, DType dtype, const char* type, KernelGrid grid, const Arguments& arguments) {
  launch_cuda({kHeader, fmt::format("{}<{}>", function, element_name(dtype)), type}, grid, arguments);
}

void fill_judged(const Tensor& matrices, int64_t count, const int* info, double value) {
  const device::JudgedArguments arguments{matrices.data, info, count, matrices.size / count, value};
  launch("fill_judged", matrices.dtype, "JudgedArguments", grid_of(matrices.size), arguments);
}

// --- Cholesky factors and triangles ----------------------------------------------------------------------------------

void factorize_cholesky_cuda(KernelContext& c, bool lower) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(to.shape);
  const Verdicts verdicts(c, s.count);
  copy_packed(c, from, to.data);
  with_type(to.dtype, [&]<class T>() {
    solver_for<T>(c).potrf(seen_by_library(lower), s.rows, stack_batch<T>(c, to), verdicts.numbers());
  });
  copy_triangle(c, to, to, 0, lower);
  verdicts.judge(check_positive_definite);
}

void invert_product_cuda(KernelContext& c, bool lower) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(to.shape);
  const Verdicts verdicts(c, s.count);
  copy_packed(c, from, to.data);
  // The library does not look for zeros.
  launch("find_zero_on_diagonal", to.dtype, "DiagonalArguments", {blocks_for(s.count), device::kMatrixThreads},
         device::DiagonalArguments{to.data, verdicts.numbers(), s.count, s.rows});
  int* const info = c.workspace<int>(s.count);  // of arguments alone
  with_type(to.dtype, [&]<class T>() {
    solver_for<T>(c).potri(seen_by_library(lower), s.rows, {to.as<T>(), nullptr, s.count}, info);
  });
  launch("mirror", to.dtype, "MirrorArguments", grid_of(to.size),
         device::MirrorArguments{to.data, s.count, s.rows, lower});
  verdicts.judge(check_diagonal);
}

void solve_triangular_cuda(KernelContext& c, const TriangularProduct& system) {
  const Tensor &factor = c.input(0), &from = c.input(1), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(to.shape);
  copy_packed(c, from, to.data);
  with_type(to.dtype, [&]<class T>() {
    solver_for<T>(c).trsm(system.rightside, seen_by_library(system.lower), system.transpose, s.columns, s.rows,
                          static_cast<T>(system.alpha), stack_batch<T>(c, factor), stack_batch<T>(c, to));
  });
}

// --- LU factors ------------------------------------------------------------------------------------------------------

// LU factors of the transposes of `matrices`, in memory of the launch.
template <class T>
struct Factors {
  Factors(KernelContext& c, Solver<T>& solver, const Tensor& matrices, int* info) {
    const Stack s = stack_of(matrices.shape);
    T* const memory = c.workspace<T>(matrices.size);
    copy_packed(c, matrices, memory);
    lu = batch_at(c, memory, s.count, s.size());
    pivots = c.workspace<int>(s.count * s.rows);
    solver.getrf(s.rows, lu, pivots, info);
  }

  MatrixBatch<T> lu;
  int* pivots;
};

void invert_cuda(KernelContext& c, bool zeros_of_singular) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(to.shape);
  const Verdicts verdicts(c, s.count);
  fill_eye(c, to, 0);
  with_type(to.dtype, [&]<class T>() {
    Solver<T> solver = solver_for<T>(c);
    const Factors<T> factors(c, solver, from, verdicts.numbers());
    solver.getrs(false, s.rows, s.rows, factors.lu, factors.pivots, stack_batch<T>(c, to));
  });
  if (zeros_of_singular)
    fill_judged(to, s.count, verdicts.numbers(), 0);
  else
    verdicts.judge(check_invertible);
}

void find_determinants_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(from.shape);
  device::DeterminantArguments arguments{nullptr, nullptr, to.data, c.output_count() > 1 ? c.output(1).data : nullptr,
                                         s.count, s.rows};
  if (s.size() > 0)
    with_type(from.dtype, [&]<class T>() {
      Solver<T> solver = solver_for<T>(c);
      const Factors<T> factors(c, solver, from, c.workspace<int>(s.count));
      arguments.factors = factors.lu.first;
      arguments.pivots = factors.pivots;
    });
  launch("find_determinants", from.dtype, "DeterminantArguments", {blocks_for(s.count), device::kMatrixThreads},
         arguments);
}

void solve_systems_cuda(KernelContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1), &to = c.output(0);
  if (to.size == 0) return;
  const Stack s = stack_of(b.shape);
  const Verdicts verdicts(c, s.count);
  with_type(to.dtype, [&]<class T>() {
    Solver<T> solver = solver_for<T>(c);
    const Factors<T> factors(c, solver, a, verdicts.numbers());
    T* const x = c.workspace<T>(b.size);
    copy_turned(c, b, b.data, x, false);
    solver.getrs(true, s.rows, s.columns, factors.lu, factors.pivots, batch_at(c, x, s.count, s.size()));
    copy_turned(c, to, x, to.data, true);
  });
  verdicts.judge(check_solvable);
}

// --- orthogonal factors, eigenvalues, singular values ----------------------------------------------------------------

void factorize_lq_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &q = c.output(0), &l = c.output(1);
  if (q.size == 0) return;
  const Stack s = stack_of(q.shape);
  const Strides square{int64_t{s.rows} * s.rows, s.rows, 1}, first_columns{s.size(), s.columns, 1};
  copy_packed(c, from, q.data);
  with_type(q.dtype, [&]<class T>() {
    Solver<T> solver = solver_for<T>(c);
    const MatrixBatch<T> matrices{q.as<T>(), nullptr, s.count};
    T* const reflectors = c.workspace<T>(s.count * s.rows);
    int* const info = c.workspace<int>(s.count);  // of arguments alone
    solver.geqrf(s.columns, s.rows, matrices, reflectors, info);
    copy_elements(c, l.data, square, q.data, first_columns, Shape{s.count, s.rows, s.rows}, q.dtype);
    solver.orgqr(s.columns, s.rows, matrices, reflectors, info);
  });
  copy_triangle(c, l, l, 0, true);
}

// The library may not see matrices that are not finite: zeros take their places meanwhile. decompose(info) gives a
// number for each matrix.
template <class Decompose>
void decompose_finite(KernelContext& c, const Tensor& matrices, std::initializer_list<const Tensor*> results,
                      Judge judge, Decompose&& decompose) {
  const Stack s = stack_of(matrices.shape);
  int* const unfinite = c.workspace<int>(s.count);
  launch("take_out_unfinite", matrices.dtype, "FiniteArguments", {blocks_for(s.count), device::kMatrixThreads},
         device::FiniteArguments{matrices.data, unfinite, s.count, s.size()});
  const Verdicts verdicts(c, s.count);
  decompose(verdicts.numbers());
  for (const Tensor* result : results) fill_judged(*result, s.count, unfinite, kNan);
  verdicts.judge(judge);
}

void launch_choose_signs(const Tensor& matrices, void* beside) {
  const Stack s = stack_of(matrices.shape);
  launch("choose_signs", matrices.dtype, "SignArguments", {blocks_for(s.count * s.rows), device::kMatrixThreads},
         device::SignArguments{matrices.data, beside, s.count, s.rows, s.columns});
}

void decompose_symmetric_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &vectors = c.output(0), &values = c.output(1);
  if (vectors.size == 0) return;
  const Stack s = stack_of(vectors.shape);
  copy_packed(c, from, vectors.data);
  decompose_finite(c, vectors, {&vectors, &values}, check_eigenvalues, [&](int* info) {
    with_type(vectors.dtype, [&]<class T>() {
      solver_for<T>(c).syevd(SolverTriangle::kUpper, s.rows, {vectors.as<T>(), nullptr, s.count}, values.as<T>(), info);
    });
    launch_choose_signs(vectors, nullptr);
  });
}

// `matrices`, packed, into u, the values l, and v. The library sees transposes: its left vectors are the rows of v, its
// right ones those of u.
template <class T>
void decompose_singular_small(KernelContext& c, const Tensor& matrices, const Tensor& l, int* info) {
  const Tensor &u = c.output(0), &v = c.output(2);
  const Stack s = stack_of(v.shape);
  const int64_t all = int64_t{s.columns} * s.columns;
  T *const left = c.workspace<T>(s.count * all), *const right = c.workspace<T>(u.size);
  solver_for<T>(c).gesvdj(s.columns, s.rows, {matrices.as<T>(), nullptr, s.count}, l.as<T>(), left, right, info);
  copy_elements(c, v.data, {s.size(), s.columns, 1}, left, {all, s.columns, 1}, Shape{s.count, s.rows, s.columns},
                v.dtype);
  copy_turned(c, u, right, u.data, true);
}

void decompose_singular_cuda(KernelContext& c) {
  const Tensor &from = c.input(0), &u = c.output(0), &l = c.output(1), &v = c.output(2);
  if (v.size == 0) return;
  const Stack s = stack_of(v.shape);
  const bool are_small = is_stack_of_small(s.columns, s.count);
  Tensor matrices = v;
  if (are_small) matrices.data = c.workspace(static_cast<size_t>(v.size) * item_size(v.dtype));
  copy_packed(c, from, matrices.data);
  decompose_finite(c, matrices, {&u, &l, &v}, check_singular_values, [&](int* info) {
    with_type(v.dtype, [&]<class T>() {
      if (are_small) return decompose_singular_small<T>(c, matrices, l, info);
      solver_for<T>(c).gesvd(s.columns, s.rows, {v.as<T>(), nullptr, s.count}, l.as<T>(), u.as<T>(), info);
    });
    launch_choose_signs(v, u.data);
  });
}

}  // namespace

void add_decompositions_cuda(KernelTable& table) {
  table.set_part(factorize_cholesky, factorize_cholesky_cuda);
  table.set_part(invert_product, invert_product_cuda);
  table.set_part(solve_triangular, solve_triangular_cuda);
  table.set_part(invert, invert_cuda);
  table.set_part(find_determinants, find_determinants_cuda);
  table.set_part(solve_systems, solve_systems_cuda);
  table.set_part(factorize_lq, factorize_lq_cuda);
  table.set_part(decompose_symmetric, decompose_symmetric_cuda);
  table.set_part(decompose_singular, decompose_singular_cuda);
  table.set_own_kernels_where(
      has_solver, {"_linalg_potrf", "_npi_cholesky", "_linalg_potri", "_linalg_trsm", "_linalg_inverse",
                   "_inverse_or_zeros", "_linalg_det", "_npi_det", "_linalg_slogdet", "_npi_slogdet", "_solve_matrices",
                   "_linalg_gelqf", "_linalg_syevd", "_npi_svd"});
}

}  // namespace headrace
