// Arithmetic on what a sparse array stores, whatever it would give for the zeros beside.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "base/dtype_dispatch.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/sparse_context.h"
#include "ops/families.h"

namespace headrace {
namespace {

using enum StorageKind;

struct NumberAttrs {
  double scalar = 0;
  static constexpr auto kFields = fields(field(&NumberAttrs::scalar, "scalar", "The number."));
};

// --- a number beside an array ----------------------------------------------------------------------------------------

template <class T>
void shift(const T* from, int64_t count, double by, T* to) {
  std::transform(from, from + count, to, [by](T x) { return static_cast<T>(static_cast<double>(x) + by); });
}

template <int kSign>
void shift_dense(KernelContext& c, const NumberAttrs& a) {
  dispatch(c.output(0).dtype,
           [&]<class T>() { shift(c.input(0).as<const T>(), c.input(0).size, kSign * a.scalar, c.output(0).as<T>()); });
}

template <int kSign>
void shift_stored(SparseContext& c, const NumberAttrs& a) {
  const SparseParts& from = c.parts(0);
  SparseParts result{NDArray::empty(from.values.shape(), c.output().dtype()), from.indices, from.indptr};
  dispatch(c.output().dtype(),
           [&]<class T>() { shift(from.values_as<T>(), from.values.size(), kSign * a.scalar, result.values_as<T>()); });
  c.set(0, std::move(result));
}

template <int kSign>
OpDef shifted(const char* name, const char* doc) {
  return general<NumberAttrs>(
      {.name = name,
       .python = {std::string("nd._internal.") + name},
       .doc = doc,
       .complete = keep_shape,
       .infer = [](Infer& i, const NumberAttrs&) { i.output(i.shape(0), i.dtype(0)); },
       .kernel = shift_dense<kSign>,
       .storage_forms = {{{kRowSparse}, {kRowSparse}, shift_stored<kSign>}, {{kCsr}, {kCsr}, shift_stored<kSign>}},
       .gradient = [](Gradient& g, const NumberAttrs&) { g.set(0, g.head()); },
       .saves_inputs = kNothing,
       .samples = {{{uniform({2, 3})}, make_attrs(NumberAttrs{.scalar = 1.5})}}});
}

// --- quotients -------------------------------------------------------------------------------------------------------

// By nothing: by zeros.
template <class T>
void divide(const T* lhs, const T* rhs, int64_t count, T* to) {
  for (int64_t k = 0; k < count; ++k)
    to[k] = static_cast<T>(static_cast<double>(lhs[k]) / (rhs ? static_cast<double>(rhs[k]) : 0.0));
}

void divide_dense(KernelContext& c, const NoAttrs&) {
  dispatch(c.output(0).dtype, [&]<class T>() {
    divide(c.input(0).as<const T>(), c.input(1).as<const T>(), c.output(0).size, c.output(0).as<T>());
  });
}

// Rows of an array of any kind, one at a time; null for one that is not stored.
template <class T>
class Rows {
 public:
  Rows(const SparseContext& c, size_t input)
      : view_(c.input(input)),
        kind_(view_.storage()->kind()),
        parts_(kind_ == kDense ? nullptr : &c.parts(input)),
        width_(row_size(view_.shape())),
        row_(kind_ == kCsr ? static_cast<size_t>(width_) : 0) {}

  const T* operator()(int64_t row) {
    if (kind_ == kDense) return SparseContext::data<T>(view_) + row * width_;
    const int64_t *const first = parts_->index(), *const last = first + parts_->count();
    if (kind_ == kRowSparse) {
      const int64_t* const found = std::lower_bound(first, last, row);
      return found != last && *found == row ? parts_->values_as<T>() + (found - first) * width_ : nullptr;
    }
    std::ranges::fill(row_, T{});
    for (int64_t k = parts_->row_begin()[row]; k < parts_->row_begin()[row + 1]; ++k)
      row_[static_cast<size_t>(first[k])] = parts_->values_as<T>()[k];
    return row_.data();
  }

 private:
  const View& view_;
  const StorageKind kind_;
  const SparseParts* const parts_;
  const int64_t width_;
  std::vector<T> row_;  // of a csr matrix
};

void divide_stored(SparseContext& c, const NoAttrs&) {
  const SparseParts& lhs = c.parts(0);
  const int64_t width = row_size(c.output().shape());
  SparseParts result{NDArray::empty(lhs.values.shape(), c.output().dtype()), lhs.indices, {}};
  dispatch(c.output().dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      Rows<T> rhs(c, 1);
      for (int64_t i = 0; i < lhs.count(); ++i)
        divide(lhs.values_as<T>() + i * width, rhs(lhs.index()[i]), width, result.values_as<T>() + i * width);
    }
  });
  c.set(0, std::move(result));
}

OpDef quotient() {
  return general<>({.name = "_scatter_elemwise_div",
                    .python = {"nd._internal._scatter_elemwise_div"},
                    .doc = "lhs / rhs, of floats of one shape; of a row_sparse lhs, the rows that it stores.",
                    .inputs = {"lhs", "rhs"},
                    .complete = [](Completion& c, const Attrs&) { c.set_all_equal(); },
                    .infer =
                        [](Infer& i, const Attrs&) {
                          expect_floats(i, 0);
                          expect_type(i, 1, i.shape(0), i.dtype(0));
                          i.output(i.shape(0), i.dtype(0));
                        },
                    .kernel = divide_dense,
                    .storage_forms = {{{kRowSparse, kDense}, {kRowSparse}, divide_stored},
                                      {{kRowSparse, kRowSparse}, {kRowSparse}, divide_stored},
                                      {{kRowSparse, kCsr}, {kRowSparse}, divide_stored}},
                    .gradient =
                        [](Gradient& g, const Attrs&) {
                          const NDArray slope = call("elemwise_div", {g.head(), g.input(1)});
                          g.set(0, slope);
                          if (g.wants(1))
                            g.set(1, call("negative", {call("elemwise_mul",
                                                            {slope, call("elemwise_div", {g.input(0), g.input(1)})})}));
                        },
                    .samples = {std::vector{uniform({2, 3}), uniform({2, 3}, 0.5, 2)}}});
}

}  // namespace

Operators scatter_operators() {
  return {quotient(), shifted<1>("_scatter_plus_scalar", "data + scalar; of a sparse array, what it stores."),
          shifted<-1>("_scatter_minus_scalar", "data - scalar; of a sparse array, what it stores.")};
}

}  // namespace headrace
