// How many elements a csr matrix stores.

#include "op/kernel.h"
#include "op/result_dtype.h"
#include "op/rule.h"
#include "op/sparse_context.h"

namespace headrace {
namespace {

struct CountAttrs {
  std::optional<int64_t> axis = {};
  static constexpr auto kFields =
      fields(field(&CountAttrs::axis, "axis", "0: of each column; 1: of each row; None: of the matrix."));
};

void infer(Infer& i, const CountAttrs& a) {
  i.require(i.shape(0).size() == 2, ErrorKind::kRuntime, "a matrix is needed, got shape {}", to_string(i.shape(0)));
  i.require(!a.axis || *a.axis == 0 || *a.axis == 1, ErrorKind::kRuntime, "axis must be None, 0 or 1, got {}",
            a.axis.value_or(0));
  i.output({a.axis ? i.shape(0)[static_cast<size_t>(1 - *a.axis)] : 1}, DType::kInt64);
}

void count_stored(SparseContext& c, const CountAttrs& a) {
  const SparseParts& from = c.parts(0);
  const int64_t rows = c.input(0).shape()[0], columns = c.input(0).shape()[1];
  auto* counts = SparseContext::data<int64_t>(c.output());
  if (!a.axis) {
    *counts = from.count();
  } else if (*a.axis == 1) {
    for (int64_t r = 0; r < rows; ++r) counts[r] = from.row_begin()[r + 1] - from.row_begin()[r];
  } else {
    std::fill_n(counts, columns, 0);
    for (int64_t i = 0; i < from.count(); ++i) ++counts[from.index()[i]];
  }
}

void refuse_dense(KernelContext& c, const CountAttrs&) {
  fail(ErrorKind::kRuntime, "{}: a csr matrix is needed, got a dense array; convert it with tostype('csr')", c.name());
}

}  // namespace

Operators stored_count_operators() {
  return {general<CountAttrs>(
      {.name = "_contrib_getnnz",
       .python = {"nd.contrib.getnnz"},
       .doc =
           "The number of stored elements of a csr matrix, explicit zeros among them, as int64: of the whole as shape "
           "(1,), of each column or of each row. Raises MXNetError for other arrays.",
       .result_dtype = result_dtypes::always(DType::kInt64),
       .infer = infer,
       .kernel = refuse_dense,
       .storage_forms = {{{StorageKind::kCsr}, {StorageKind::kDense}, count_stored}},
       .unsampled = "takes sparse arrays alone; tests/python/ops/test_signal.py"})};
}

}  // namespace headrace
