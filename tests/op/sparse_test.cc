// Sparse arrays: their parts, what operators compute on them, dense copies, gradients.
#include "headrace/sparse.hpp"

#include <gtest/gtest.h>

#include "headrace/autograd.hpp"
#include "headrace/error.hpp"
#include "op/detours.h"
#include "op/invoke_stored.h"
#include "tests/support/arrays.h"

namespace headrace {
namespace {

using enum StorageKind;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

NDArray ints(const Ints& values) {
  return NDArray::from_host(values.data(), {static_cast<int64_t>(values.size())}, DType::kInt64);
}
Floats elements(const NDArray& array) { return dense(array).to_vector<float>(); }
int64_t dense_copies_of(const std::string& name) {
  return detours()[name + ": computed on dense copies of sparse arrays"];
}
void expect_error(ErrorKind kind, const std::string& text, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "nothing was raised; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

// [[0 2 0] [0 0 0] [1 0 3] [0 0 4]]
NDArray matrix() { return sparse::csr(array({2, 1, 3, 4}), ints({1, 0, 2, 2}), ints({0, 1, 1, 3, 4}), {4, 3}); }
const Floats kMatrix = {0, 2, 0, 0, 0, 0, 1, 0, 3, 0, 0, 4};

TEST(Sparse, PartsMakeAnArray) {
  const NDArray csr = matrix();
  EXPECT_EQ(csr.storage_kind(), kCsr);
  EXPECT_EQ(csr.shape(), (Shape{4, 3}));
  EXPECT_EQ(elements(csr), kMatrix);
  EXPECT_EQ(sparse::values_of(csr).to_vector<float>(), (Floats{2, 1, 3, 4}));
  EXPECT_EQ(sparse::indices_of(csr).to_vector<int64_t>(), (Ints{1, 0, 2, 2}));
  EXPECT_EQ(sparse::indptr_of(csr).to_vector<int64_t>(), (Ints{0, 1, 1, 3, 4}));
  const NDArray rows = sparse::row_sparse(array({1, 2, 3, 4}, {2, 2}), ints({3, 1}), {4, 2});
  EXPECT_EQ(elements(rows), (Floats{0, 0, 3, 4, 0, 0, 1, 2}));
  EXPECT_EQ(sparse::indices_of(rows).to_vector<int64_t>(), (Ints{1, 3}));
  EXPECT_EQ(elements(sparse::zeros(kRowSparse, {2, 3})), Floats(6));
  EXPECT_EQ(elements(sparse::zeros(kCsr, {2, 0})), Floats());
}

TEST(Sparse, PartsThatMakeNoArrayAreRefused) {
  const NDArray two = array({1, 2});
  expect_error(ErrorKind::kValue, "two axes", [] { sparse::zeros(kCsr, {3}); });
  expect_error(ErrorKind::kValue, "indptr must have the shape (3,)", [&] {
    sparse::csr(two, ints({0, 1}), ints({0, 2}), {2, 2});
  });
  expect_error(ErrorKind::kType, "holds float32, not int64", [&] { sparse::csr(two, two, ints({0, 2}), {1, 2}); });
  expect_error(ErrorKind::kValue, "values must have the shape (2, 5)", [&] {
    sparse::row_sparse(array({1, 2}, {2, 1}), ints({0, 1}), {4, 5});
  });
  const auto read = [](const NDArray& a) { a.wait_to_read(); };
  expect_error(ErrorKind::kValue, "index 7 is out of bounds for an axis of 3 entries", [&] {
    read(sparse::csr(two, ints({0, 7}), ints({0, 2}), {1, 3}));
  });
  expect_error(ErrorKind::kValue, "index 1 is there twice", [&] {
    read(sparse::csr(two, ints({1, 1}), ints({0, 2}), {1, 3}));
  });
  expect_error(ErrorKind::kValue, "indptr must not descend", [&] {
    read(sparse::csr(two, ints({0, 1}), ints({0, 5, 2}), {2, 3}));
  });
  expect_error(ErrorKind::kValue, "indptr must begin with 0", [&] {
    read(sparse::csr(two, ints({0, 1}), ints({1, 2}), {1, 3}));
  });
}

TEST(Sparse, EveryKindBecomesEveryOther) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt32, DType::kUint8, DType::kBool}) {
    const NDArray whole = cast_to(array(kMatrix, {4, 3}), dtype);
    for (StorageKind from : {kDense, kRowSparse, kCsr})
      for (StorageKind to : {kDense, kRowSparse, kCsr}) {
        const NDArray there = cast_storage(cast_storage(whole, from), to);
        EXPECT_EQ(there.storage_kind(), to);
        EXPECT_EQ(there.dtype(), dtype);
        EXPECT_EQ(bytes_of(dense(there)), bytes_of(whole));
      }
  }
  EXPECT_EQ(sparse::indices_of(cast_storage(matrix(), kRowSparse)).to_vector<int64_t>(), (Ints{0, 2, 3}));
  expect_error(ErrorKind::kValue, "storage type 'coo' is unknown", [] {
    call("cast_storage", {array({1})}, {{"stype", std::string("coo")}});
  });
}

TEST(Sparse, FormulasThatKeepZeroWorkOnWhatIsStored) {
  const NDArray a = matrix(), b = cast_storage(array({0, 1, 0, 0, 0, 5, 0, 0, 0, 1, 0, -4}, {4, 3}), kCsr);
  const int64_t before = dense_copies_of("elemwise_add");
  const NDArray sum = call("elemwise_add", {a, b});
  EXPECT_EQ(sum.storage_kind(), kCsr);
  EXPECT_EQ(elements(sum), (Floats{0, 3, 0, 0, 0, 5, 1, 0, 3, 1, 0, 0}));
  EXPECT_EQ(sparse::indices_of(sum).to_vector<int64_t>(), (Ints{1, 2, 0, 2, 0, 2}));
  EXPECT_EQ(dense_copies_of("elemwise_add"), before);
  EXPECT_EQ(call("elemwise_mul", {a, b}).storage_kind(), kCsr);
  EXPECT_EQ(elements(call("elemwise_mul", {a, b})), (Floats{0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, -16}));
  EXPECT_EQ(call("relu", {a}).storage_kind(), kCsr);
  EXPECT_EQ(call("cos", {a}).storage_kind(), kDense);
  const NDArray tripled = call("_mul_scalar", {a}, {{"scalar", 3.0}});
  EXPECT_EQ(tripled.storage_kind(), kCsr);
  EXPECT_EQ(elements(tripled), (Floats{0, 6, 0, 0, 0, 0, 3, 0, 9, 0, 0, 12}));
  EXPECT_EQ(call("_plus_scalar", {a}, {{"scalar", 0.0}}).storage_kind(), kCsr);
  const NDArray many = array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, static_cast<float>(kInf)}, {4, 3});
  const NDArray product = call("elemwise_mul", {many, a});
  EXPECT_EQ(product.storage_kind(), kCsr);
  EXPECT_EQ(elements(product), (Floats{0, 4, 0, 0, 0, 0, 7, 0, 27, 0, 0, static_cast<float>(kInf)}));
  EXPECT_EQ(call("elemwise_div", {a, many}).storage_kind(), kDense);
  EXPECT_EQ(call("_maximum", {a, many}).storage_kind(), kDense);
  const NDArray rows = cast_storage(a, kRowSparse);
  EXPECT_EQ(elements(call("elemwise_mul", {rows, many})), elements(product));
  EXPECT_EQ(elements(call("elemwise_add", {rows, cast_storage(b, kRowSparse)})), elements(sum));
  EXPECT_EQ(call("elemwise_add", {rows, rows}).storage_kind(), kRowSparse);
}

TEST(Sparse, WhatHasNoFormTakesDenseCopies) {
  const NDArray a = matrix();
  const int64_t before = dense_copies_of("exp");
  EXPECT_EQ(call("exp", {a}).storage_kind(), kDense);
  EXPECT_EQ(dense_copies_of("exp"), before + 1);
  EXPECT_EQ(elements(call("_plus_scalar", {a}, {{"scalar", 1.0}}))[0], 1);
  EXPECT_EQ(elements(call("elemwise_add", {a, array(kMatrix, {4, 3})}))[1], 4);
  EXPECT_EQ(elements(call("elemwise_add", {a, cast_storage(a, kRowSparse)}))[11], 8);
  EXPECT_EQ(elements(call("transpose", {a})), (Floats{0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 4}));
  EXPECT_EQ(elements(call("sum", {a})), (Floats{10}));
}

TEST(Sparse, OutTakesResultsOfEveryKind) {
  const NDArray a = matrix(), target = sparse::zeros(kRowSparse, {4, 3}), flat = array(Floats(12), {4, 3});
  NDArray out = target;
  const OpDef& exp = find_op("exp");
  invoke(exp, exp.default_attrs, {&a, 1}, {&out, 1});
  EXPECT_EQ(target.storage_kind(), kRowSparse);
  EXPECT_EQ(elements(target)[0], 1);
  copy_into(target, a);
  EXPECT_EQ(elements(target), kMatrix);
  copy_into(flat, target);
  EXPECT_EQ(elements(flat), kMatrix);
  NDArray itself = a;
  const OpDef& square = find_op("square");
  invoke(square, square.default_attrs, {&a, 1}, {&itself, 1});
  EXPECT_EQ(elements(a), (Floats{0, 4, 0, 0, 0, 0, 1, 0, 9, 0, 0, 16}));
}

TEST(Sparse, ViewsAndElementsAreRefusedByName) {
  const NDArray a = matrix();
  expect_error(ErrorKind::kRuntime, "to_vector: the array is stored as csr", [&] { a.to_vector<float>(); });
  expect_error(ErrorKind::kRuntime, "the array is stored as csr", [&] { View(*a.view(), 1); });
}

TEST(Sparse, ProductsOfCsrAndDense) {
  const NDArray a = matrix(), b = array({1, 2, 3, 4, 5, 6}, {3, 2}), c = array({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const NDArray plain = call("dot", {a, b});
  EXPECT_EQ(plain.storage_kind(), kDense);
  EXPECT_EQ(elements(plain), elements(call("dot", {dense(a), b})));
  const NDArray rows = call("dot", {a, c}, {{"transpose_a", true}});
  EXPECT_EQ(rows.storage_kind(), kRowSparse);
  EXPECT_EQ(elements(rows), elements(call("dot", {dense(a), c}, {{"transpose_a", true}})));
  const NDArray wanted = call("dot", {a, c}, {{"transpose_a", true}, {"forward_stype", std::string("default")}});
  EXPECT_EQ(wanted.storage_kind(), kDense);
  EXPECT_EQ(elements(wanted), elements(rows));
  EXPECT_EQ(elements(call("dot", {a, b}, {{"transpose_b", false}})), elements(plain));
  EXPECT_EQ(elements(call("dot", {b, a}, {{"transpose_a", true}, {"transpose_b", true}})),
            elements(call("dot", {b, dense(a)}, {{"transpose_a", true}, {"transpose_b", true}})));
  EXPECT_EQ(elements(call("dot", {a, call("transpose", {array({1, 3, 5, 2, 4, 6}, {2, 3})})})), elements(plain));
  const NDArray row = array({1, 2, 3, 4}, {1, 4}), after = call("dot", {row, a});
  EXPECT_EQ(after.storage_kind(), kCsr);
  EXPECT_EQ(elements(after), elements(call("dot", {row, dense(a)})));
  EXPECT_EQ(call("dot", {row, a}, {{"forward_stype", std::string("default")}}).storage_kind(), kDense);
  EXPECT_EQ(elements(call("dot", {array({1, 2, 3, 4}), a})), elements(after));
  EXPECT_EQ(elements(call("dot", {a, array({1, 2, 3})})), (Floats{4, 0, 10, 12}));
  expect_error(ErrorKind::kRuntime, "they must be equal", [&] { call("dot", {a, c}); });
}

// Of sum(f(x) * weights) with respect to x, which is stored as `kind`; the gradient as `grad_kind`.
template <class F>
NDArray gradient(const NDArray& whole, StorageKind kind, StorageKind grad_kind, const F& f) {
  NDArray x = cast_storage(whole, kind);
  autograd::attach_grad(x, "write", grad_kind);
  NDArray y;
  {
    const autograd::RecordScope scope;
    y = f(x);
  }
  autograd::backward(y);
  const NDArray result = autograd::grad_of(x);
  EXPECT_EQ(result.storage_kind(), grad_kind);
  return dense(result);
}

TEST(Sparse, GradientsDoNotDependOnWhatArraysAreStoredAs) {
  const NDArray whole = array(kMatrix, {4, 3}), other = array({1, 0, 2, 0, 0, 0, 3, 1, 0, 0, 0, 1}, {4, 3});
  const NDArray right = array({1, 2, 3, 4, 5, 6}, {3, 2}), left = array({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const auto squared_sum = [&](StorageKind kind) {
    return [&, kind](const NDArray& x) {
      return call("square", {call("elemwise_add", {x, cast_storage(other, kind)})});
    };
  };
  const auto product = [&](const NDArray& x) { return call("square", {call("dot", {x, right})}); };
  const auto through = [](const NDArray& x) { return call("square", {cast_storage(x, kRowSparse)}); };
  const Floats sums = elements(gradient(whole, kDense, kDense, squared_sum(kDense))),
               products = elements(gradient(whole, kDense, kDense, product)),
               casts = elements(gradient(whole, kDense, kDense, [](const NDArray&x) { return call("square", {x}); }));
  for (StorageKind kind : {kDense, kRowSparse, kCsr})
    for (StorageKind grad_kind : {kDense, kRowSparse, kCsr}) {
      EXPECT_EQ(elements(gradient(whole, kind, grad_kind, squared_sum(kind))), sums);
      EXPECT_EQ(elements(gradient(whole, kind, grad_kind, product)), products);
      EXPECT_EQ(elements(gradient(whole, kind, grad_kind, through)), casts);
    }
  for (bool transposed : {false, true}) {
    const auto factor = [&](const NDArray& matrix) {
      return [&, matrix](const NDArray& x) {
        return call("square", {call("dot", {matrix, x}, {{"transpose_a", transposed}})});
      };
    };
    const NDArray& x = transposed ? left : right;
    const Floats expected = elements(gradient(x, kDense, kDense, factor(whole)));
    EXPECT_EQ(elements(gradient(x, kDense, kDense, factor(matrix()))), expected);
    EXPECT_EQ(elements(gradient(x, kDense, kRowSparse, factor(matrix()))), expected);
  }
}

TEST(Sparse, GradientsThatAddUpStaySparse) {
  NDArray weight = array({1, 2, 3, 4, 5, 6}, {3, 2});
  autograd::attach_grad(weight, "add", kRowSparse);
  for (int i = 0; i < 2; ++i) {
    NDArray y;
    {
      const autograd::RecordScope scope;
      y = call("elemwise_add", {call("dot", {matrix(), weight}), call("dot", {matrix(), weight})});
    }
    autograd::backward(y);
  }
  const NDArray gradient = autograd::grad_of(weight);
  EXPECT_EQ(gradient.storage_kind(), kRowSparse);
  EXPECT_EQ(elements(gradient), (Floats{4, 4, 8, 8, 28, 28}));
}

TEST(Sparse, AFailedOperationIsKeptOnItsResult) {
  const NDArray broken = sparse::csr(array({1, 2}), ints({0, 7}), ints({0, 2}), {1, 3});
  const NDArray result = call("relu", {broken});
  expect_error(ErrorKind::kValue, "index 7 is out of bounds", [&] { dense(result).wait_to_read(); });
}

}  // namespace
}  // namespace headrace
