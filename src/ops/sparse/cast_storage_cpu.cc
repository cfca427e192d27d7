// cast_storage: what an array is stored as.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/dtype_dispatch.h"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/sparse_context.h"

namespace headrace {
namespace {

struct CastStorageAttrs {
  std::string stype;
  static constexpr auto kFields =
      fields(field(&CastStorageAttrs::stype, "stype", "What to store: 'default', 'row_sparse' or 'csr'.").required());
};

using enum StorageKind;

template <class T>
bool is_zero(const T* values, int64_t count) {
  return std::all_of(values, values + count, [](T value) { return value == T{}; });
}

void rows_of_dense(SparseContext& c, const CastStorageAttrs&) {
  const View& from = c.input(0);
  const int64_t rows = from.shape()[0], size = row_size(from.shape());
  dispatch(from.dtype(), [&]<class T>() {
    const T* const data = SparseContext::data<T>(from);
    std::vector<int64_t> kept;
    for (int64_t r = 0; r < rows; ++r)
      if (!is_zero(data + r * size, size)) kept.push_back(r);
    SparseParts parts = c.make(0, static_cast<int64_t>(kept.size()));
    T* to = parts.values_as<T>();
    for (int64_t r : kept) to = std::copy_n(data + r * size, size, to);
    std::ranges::copy(kept, parts.index());
    c.set(0, std::move(parts));
  });
}

void csr_of_dense(SparseContext& c, const CastStorageAttrs&) {
  const View& from = c.input(0);
  const int64_t rows = from.shape()[0], columns = from.shape()[1];
  dispatch(from.dtype(), [&]<class T>() {
    const T* const data = SparseContext::data<T>(from);
    const int64_t count = std::count_if(data, data + from.size(), [](T value) { return !(value == T{}); });
    SparseParts parts = c.make(0, count);
    int64_t stored = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < columns; ++k) {
        const T value = data[r * columns + k];
        if (value == T{}) continue;
        parts.values_as<T>()[stored] = value;
        parts.index()[stored++] = k;
      }
      parts.row_begin()[r + 1] = stored;
    }
    c.set(0, std::move(parts));
  });
}

void dense_of_rows(SparseContext& c, const CastStorageAttrs&) {
  const SparseParts& parts = c.parts(0);
  const View& to = c.output();
  const size_t row = static_cast<size_t>(row_size(to.shape())) * item_size(to.dtype());
  std::memset(to.data(), 0, static_cast<size_t>(to.size()) * item_size(to.dtype()));
  const char* from = parts.values_as<char>();
  for (int64_t i = 0; i < parts.count(); ++i, from += row)
    std::memcpy(to.data() + static_cast<size_t>(parts.index()[i]) * row, from, row);
}

void dense_of_csr(SparseContext& c, const CastStorageAttrs&) {
  const SparseParts& parts = c.parts(0);
  const View& to = c.output();
  std::memset(to.data(), 0, static_cast<size_t>(to.size()) * item_size(to.dtype()));
  dispatch_size(to.dtype(), [&]<class T>() {
    for (int64_t r = 0; r < to.shape()[0]; ++r)
      for (int64_t i = parts.row_begin()[r]; i < parts.row_begin()[r + 1]; ++i)
        SparseContext::data<T>(to)[r * to.shape()[1] + parts.index()[i]] = parts.values_as<T>()[i];
  });
}

void share(SparseContext& c, const CastStorageAttrs&) { c.set(0, c.parts(0)); }

auto when(StorageKind kind) {
  return [name = std::string(storage_kind_name(kind))](const CastStorageAttrs& a) { return a.stype == name; };
}

}  // namespace

Operators cast_storage_operators() {
  return {general<CastStorageAttrs>(
      {.name = "cast_storage",
       .python = {"nd.cast_storage", "NDArray.tostype"},
       .doc =
           R"(The same elements, stored in another way: 'default' (dense), 'row_sparse' (the rows that are not zero) or 'csr'
(the elements of a matrix that are not zero).

The gradient passes unchanged. In a compiled graph all arrays are dense. Raises ValueError for another name, and for a csr array of
other than two axes.)",
       .infer =
           [](Infer& i, const CastStorageAttrs& a) {
             const StorageKind kind = parse_storage_kind(a.stype);
             i.require(kind != kCsr || i.shape(0).size() == 2, ErrorKind::kValue,
                       "a csr array has two axes, but the shape is {}", to_string(i.shape(0)));
             i.require(kind != kRowSparse || !i.shape(0).empty(), ErrorKind::kValue,
                       "a row_sparse array has at least one axis");
             i.output(i.shape(0), i.dtype(0));
           },
       .kernel =
           [](KernelContext& c, const CastStorageAttrs&) {
             std::memcpy(c.output(0).data, c.input(0).data,
                         static_cast<size_t>(c.input(0).size) * item_size(c.input(0).dtype));
           },
       .storage_forms = {{{kDense}, {kRowSparse}, rows_of_dense, when(kRowSparse)},
                         {{kDense}, {kCsr}, csr_of_dense, when(kCsr)},
                         {{kRowSparse}, {kDense}, dense_of_rows, when(kDense)},
                         {{kCsr}, {kDense}, dense_of_csr, when(kDense)},
                         {{kRowSparse}, {kRowSparse}, share, when(kRowSparse)},
                         {{kCsr}, {kCsr}, share, when(kCsr)}},
       .makes_sparse = true,
       .gradient = [](Gradient& g, const CastStorageAttrs&) { g.set(0, g.head()); },
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3})}, make_attrs(CastStorageAttrs{"default"}))}})};
}

}  // namespace headrace
