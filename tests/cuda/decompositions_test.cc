// Decompositions of matrices on the plug-in's GPUs, beside the host; and who computes them where the library is
// missing, as it is for the tests that are not slow once more (cmake/tests.cmake).
#include <gtest/gtest.h>

#include <limits>

#include "device/registry.h"
#include "graph/cached_op.h"
#include "op/kernel_table.h"
#include "tests/cuda/beside_host.h"

namespace headrace {
namespace {

bool is_on_host(const char* op) { return kernels_of(DeviceType::kGpu)->is_on_host(find_op(op)); }

NDArray identity(int64_t n, DType dtype) {
  return call("_npi_identity", {}, {{"shape", Shape{n, n}}, {"dtype", std::string(dtype_name(dtype))}});
}

// Far from singular, neither symmetric nor triangular.
NDArray regular(const Shape& shape, DType dtype, uint64_t seed) {
  const int64_t n = shape.back();
  const NDArray small = call("_mul_scalar", {varied(shape, dtype, seed)}, {{"scalar", 1.0 / static_cast<double>(n)}});
  return call("broadcast_add", {small, identity(n, dtype)});
}

NDArray positive_definite(const Shape& shape, DType dtype, uint64_t seed) {
  const NDArray factor = regular(shape, dtype, seed);
  return call("batch_dot", {factor, factor}, {{"transpose_b", true}});
}

// With a growing diagonal, beside which the rest is small: eigenvalues, and singular values, lie apart, so that vectors
// are well determined.
NDArray separated(const Shape& shape, DType dtype, uint64_t seed) {
  const NDArray small = cast_to(varied(shape, dtype, seed), DType::kFloat32);
  std::vector<float> values(static_cast<size_t>(small.size()));
  small.copy_to_host(values.data());
  const auto rows = static_cast<size_t>(shape[shape.size() - 2]), columns = static_cast<size_t>(shape.back());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t row = i / columns % rows;
    values[i] = values[i] / static_cast<float>(columns) + (row == i % columns ? static_cast<float>(row + 1) : 0);
  }
  return cast_to(NDArray::from(std::span<const float>(values), shape), dtype);
}

// Of different sizes, alone and in stacks, which go to the library in different ways.
const std::vector<Shape>& squares() {
  static const std::vector<Shape> shapes = {{3, 3}, {1, 1}, {5, 7, 7}, {2, 3, 4, 4}, {1, 12, 12}, {2, 0, 0}, {0, 2, 2}};
  return shapes;
}

constexpr DType kSolved[] = {DType::kFloat32, DType::kFloat64};

void expect_outputs_as_on_host(const char* name, const std::vector<NDArray>& inputs, const AttrsPtr& attrs = {}) {
  const OpDef& op = find_op(name);
  for (size_t k = 0; k < op.outputs; ++k)
    expect_as_on_host(
        inputs, [&](const std::vector<NDArray>& in) { return invoke_all(op, attrs ? attrs : op.default_attrs, in)[k]; },
        kOfVectors);
}

TEST(CudaDecompositionsSlow, CholeskyFactorsAndInversesOfTheirProducts) {
  for (const DType dtype : kSolved)
    for (const Shape& shape : squares())
      for (const bool lower : {true, false})
        for (const char* op : {"_linalg_potrf", "_linalg_potri"})
          expect_as_on_host({positive_definite(shape, dtype, 1)}, [&](const std::vector<NDArray>& in) {
            return call(op, {in[0]}, {{"lower", lower}});
          });
}

TEST(CudaDecompositionsSlow, TriangularSystems) {
  for (const DType dtype : kSolved)
    for (const bool rightside : {false, true})
      for (const bool transpose : {false, true})
        for (const bool lower : {true, false})
          for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 2}}) {
            Shape factor = batch, other = batch;
            for (const int64_t extent : {5, 5}) factor.push_back(extent);
            other.push_back(rightside ? 2 : 5);
            other.push_back(rightside ? 5 : 2);
            expect_as_on_host(
                {regular(factor, dtype, 2), varied(other, dtype, 3)}, [&](const std::vector<NDArray>& in) {
                  return call("_linalg_trsm", {in[0], in[1]},
                              {{"rightside", rightside}, {"transpose", transpose}, {"lower", lower}, {"alpha", -1.5}});
                });
          }
}

TEST(CudaDecompositionsSlow, InversesDeterminantsAndSolutions) {
  for (const DType dtype : kSolved)
    for (const Shape& shape : squares()) {
      const NDArray a = regular(shape, dtype, 4);
      for (const char* op : {"_linalg_inverse", "_linalg_det", "_linalg_slogdet", "_npi_det"})
        expect_outputs_as_on_host(op, {a});
      Shape sides = shape;
      sides.back() = 3;
      expect_outputs_as_on_host("_solve_matrices", {a, varied(sides, dtype, 5)});
    }
}

TEST(CudaDecompositionsSlow, LargeMatricesOfAStackGoOneByOne) {
  const NDArray a = regular({2, 520, 520}, DType::kFloat64, 6);
  expect_outputs_as_on_host("_linalg_inverse", {a});
  expect_outputs_as_on_host("_linalg_potrf", {positive_definite({2, 520, 520}, DType::kFloat64, 7)});
  expect_outputs_as_on_host("_linalg_trsm", {a, varied({2, 520, 2}, DType::kFloat64, 8)});
}

TEST(CudaDecompositionsSlow, OrthogonalFactorsEigenvaluesAndSingularValues) {
  std::vector<Shape> shapes = squares();
  shapes.push_back({2, 33, 33});  // too large to go together
  for (const DType dtype : kSolved)
    for (const Shape& shape : shapes) {
      expect_outputs_as_on_host("_linalg_syevd", {separated(shape, dtype, 9)});
      Shape wide = shape;
      wide.back() += 2;
      for (const char* op : {"_linalg_gelqf", "_npi_svd"}) {
        expect_outputs_as_on_host(op, {separated(shape, dtype, 10)});
        expect_outputs_as_on_host(op, {separated(wide, dtype, 11)});
      }
    }
}

TEST(CudaDecompositionsSlow, MatricesThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const NDArray matrices = array({2, nan, 0, 1, 2, 1, 1, 3, infinite, 1, 1, 1}, {3, 2, 2});
  for (const char* op : {"_linalg_syevd", "_npi_svd"}) expect_outputs_as_on_host(op, {matrices});
}

TEST(CudaDecompositionsSlow, SingularMatricesGiveZerosToGradients) {
  expect_outputs_as_on_host("_inverse_or_zeros", {array({1, 2, 2, 4, 1, 2, 3, 4, 0, 0, 0, 0}, {3, 2, 2})});
  const NDArray singular = array({1, 2, 2, 4, 1, 2, 3, 4}, {2, 2, 2});
  for (const char* op : {"_linalg_det", "_linalg_slogdet"}) expect_outputs_as_on_host(op, {singular});
}

std::string said_of(const char* op, const std::vector<NDArray>& inputs, Device device) {
  std::vector<NDArray> moved;
  for (const NDArray& input : inputs) moved.push_back(as_in_context(input, device));
  try {
    const OpDef& found = find_op(op);
    invoke_all(found, found.default_attrs, moved)[0].wait_to_read();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRuntime);
    return error.what();
  }
  return "nothing";
}

TEST(CudaDecompositions, WhatMatricesLackIsSaidAsOnTheHost) {
  const NDArray singular = array({1, 2, 3, 4, 1, 2, 2, 4}, {2, 2, 2}), sides = array({1, 2, 3, 4}, {2, 2, 1});
  const NDArray indefinite = array({2, 1, 1, 2, 1, 2, 2, 1}, {2, 2, 2});
  for (const char* op : {"_linalg_inverse", "_linalg_potrf", "_linalg_potri", "_solve_matrices"}) {
    std::vector<NDArray> inputs = {op == std::string("_linalg_potrf")   ? indefinite
                                   : op == std::string("_linalg_potri") ? array({1, 0, 2, 0}, {2, 2})
                                                                        : singular};
    if (find_op(op).inputs.size() > 1) inputs.push_back(sides);
    const std::string here = said_of(op, inputs, {});
    EXPECT_NE(here, "nothing") << op;
    EXPECT_EQ(said_of(op, inputs, kGpu0), here);
  }
}

TEST(CudaDecompositions, TheHostComputesThemWithoutTheLibrary) {
  const NDArray matrix = regular({2, 3, 3}, DType::kFloat64, 12);
  const int64_t before = count_of_detours();
  const NDArray there = call("_linalg_inverse", {as_in_context(matrix, kGpu0)});
  expect_close(as_in_context(there, {}), call("_linalg_inverse", {matrix}));
  EXPECT_EQ(count_of_detours() - before, is_on_host("_linalg_inverse") ? 1 : 0);
}

// They wait for their stream, and say what matrices lack: launches that come again are not captured.
TEST(CudaDecompositions, GraphsWithThemAreLaunchedPieceByPiece) {
  Symbol x = Symbol::variable("x");
  for (int layer = 0; layer < 3; ++layer) x = Symbol::apply("softmax", "", {x});
  CachedOp op(Symbol::apply("_linalg_inverse", "", {x}));
  for (uint64_t round = 0; round < 5; ++round) {
    const NDArray input = call("_mul_scalar", {regular({4, 4}, DType::kFloat32, round)}, {{"scalar", 8.0}});
    const NDArray there = op(std::vector{as_in_context(input, kGpu0)})[0];
    expect_close(as_in_context(there, {}), op(std::vector{input})[0]);
  }
}

}  // namespace
}  // namespace headrace
