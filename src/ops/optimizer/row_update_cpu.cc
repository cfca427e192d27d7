#include "ops/optimizer/row_update.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/cpu/parallel.h"
#include "op/call_body.h"
#include "op/sparse_context.h"

namespace headrace {
namespace {

using enum StorageKind;

constexpr size_t kGradient = 1;
constexpr int64_t kChunkBytes = int64_t{1} << 18;  // of each array on its way through the update
constexpr double kNsPerByte = 0.5;

// Nobody else can reach the values.
bool is_alone(const NDArray& values) {
  return values.view()->reference_count() == 1 && values.view()->storage()->reference_count() == 1;
}

// The memory of all rows of an array that will be changed. A row_sparse array gets those that it does not store, and
// values of its own where it shares them.
char* all_rows(const View& array) {
  Storage& storage = *array.storage();
  if (storage.kind() == kDense) {
    storage.begin_write(false);
    return array.data();
  }
  const SparseParts& parts = storage.parts();
  const int64_t rows = array.shape()[0];
  if (parts.count() != rows || !is_alone(parts.values)) {
    SparseParts all = make_parts(kRowSparse, array.shape(), array.dtype(), rows);
    std::iota(all.index(), all.index() + rows, 0);
    const size_t row = static_cast<size_t>(row_size(array.shape())) * item_size(array.dtype());
    if (parts.count() != rows) std::memset(all.values_as<char>(), 0, static_cast<size_t>(rows) * row);
    for (int64_t i = 0; i < parts.count(); ++i)
      std::memcpy(all.values_as<char>() + static_cast<size_t>(parts.index()[i]) * row,
                  parts.values_as<char>() + static_cast<size_t>(i) * row, row);
    storage.set_parts(std::move(all));
  }
  const NDArray& values = storage.parts().values;
  values.view()->storage()->begin_write(false);
  return values.view()->data();
}

// One of the arrays, by rows.
struct Rows {
  char* data;
  const View* array;
  size_t row_bytes;

  NDArray room(int64_t count) const {
    Shape shape = array->shape();
    shape[0] = count;
    return NDArray::empty(shape, array->dtype());
  }
  char* row(int64_t number) const { return data + static_cast<size_t>(number) * row_bytes; }
};

class RowUpdate {
 public:
  RowUpdate(SparseContext& context, const Attrs& attrs, bool is_lazy)
      : context_(context), attrs_(attrs), gradient_(context.parts(kGradient)), is_lazy_(is_lazy) {
    for (size_t i = 0; i < context.input_count(); ++i) {
      const View& array = context.input(i);
      const size_t row_bytes = static_cast<size_t>(row_size(array.shape())) * item_size(array.dtype());
      rows_.push_back({i == kGradient ? gradient_.values_as<char>() : all_rows(array), &array, row_bytes});
    }
  }

  void run() const {
    const int64_t count = is_lazy_ ? gradient_.count() : context_.input(0).shape()[0];
    const auto row_bytes = static_cast<int64_t>(std::max<size_t>(1, rows_[0].row_bytes));
    const int64_t chunk = std::max<int64_t>(1, kChunkBytes / row_bytes);
    const double cost = kNsPerByte * static_cast<double>(count * row_bytes) * static_cast<double>(rows_.size());
    parallel_for(count, chunk, cost, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += chunk) update(begin, std::min(end, begin + chunk));
    });
  }

 private:
  int64_t row_of(int64_t place) const { return is_lazy_ ? gradient_.index()[place] : place; }

  // The gradients of the rows at places from begin up to end.
  void take_gradients(int64_t begin, int64_t end, char* to) const {
    const Rows& from = rows_[kGradient];
    if (is_lazy_) {
      std::memcpy(to, from.row(begin), static_cast<size_t>(end - begin) * from.row_bytes);
      return;
    }
    std::memset(to, 0, static_cast<size_t>(end - begin) * from.row_bytes);
    const int64_t* const first = gradient_.index();
    const int64_t* const last = first + gradient_.count();
    for (const int64_t* row = std::lower_bound(first, last, begin); row != last && *row < end; ++row)
      std::memcpy(to + static_cast<size_t>(*row - begin) * from.row_bytes, from.row(row - first), from.row_bytes);
  }

  // Copies rows out, updates them as the operator does dense arrays, and writes them back.
  void update(int64_t begin, int64_t end) const {
    std::vector<NDArray> taken;
    SmallVector<View*, 8> views;
    for (size_t i = 0; i < rows_.size(); ++i) {
      taken.push_back(rows_[i].room(end - begin));
      views.push_back(taken.back().view().get());
      if (i == kGradient)
        take_gradients(begin, end, views.back()->data());
      else
        exchange(rows_[i], begin, end, views.back()->data(), false);
    }
    const NDArray result = rows_[0].room(end - begin);
    View* const to = result.view().get();
    run_call(context_.op(), attrs_, {views.data(), views.size()}, {&to, 1}, context_.ticket());
    exchange(rows_[0], begin, end, to->data(), true);
    for (size_t i = 1; i < rows_.size(); ++i)
      if (context_.op().mutates_input(i)) exchange(rows_[i], begin, end, views[i]->data(), true);
  }

  // Between the rows of an array and a packed copy of them.
  void exchange(const Rows& rows, int64_t begin, int64_t end, char* copy, bool is_back) const {
    for (int64_t place = begin; place < end; ++place, copy += rows.row_bytes) {
      char* const row = rows.row(row_of(place));
      std::memcpy(is_back ? row : copy, is_back ? copy : row, rows.row_bytes);
    }
  }

  SparseContext& context_;
  const Attrs& attrs_;
  const SparseParts gradient_;
  const bool is_lazy_;
  std::vector<Rows> rows_;
};

auto updater(bool is_lazy) {
  return [is_lazy](SparseContext& context, const Attrs& attrs) { RowUpdate(context, attrs, is_lazy).run(); };
}

bool is_lazy_for(LazyWhere where, const std::vector<StorageKind>& kinds) {
  bool is_alike = true;
  for (size_t i = 0; i < kinds.size(); ++i) is_alike &= i == kGradient || kinds[i] == kinds[0];
  return is_alike && (where == LazyWhere::kAlike || (where == LazyWhere::kAllSparse && kinds[0] == kRowSparse));
}

}  // namespace

std::vector<StorageForm> row_update_forms(size_t inputs, LazyWhere where, AttrFunction<bool(const Attrs&)> is_lazy) {
  std::vector<StorageForm> forms;
  for (uint32_t choice = 0; choice < 1u << inputs; ++choice) {
    std::vector<StorageKind> kinds;
    for (size_t i = 0; i < inputs; ++i) kinds.push_back((choice >> i) & 1u ? kRowSparse : kDense);
    if (kinds[kGradient] != kRowSparse) continue;
    if (is_lazy_for(where, kinds)) forms.push_back({kinds, {}, updater(true), is_lazy});
    forms.push_back({kinds, {}, updater(false)});
  }
  return forms;
}

}  // namespace headrace
