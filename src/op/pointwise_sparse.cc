#include "op/pointwise_sparse.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "op/formula/scalar.h"
#include "op/fused.h"
#include "op/pointwise.h"

namespace headrace {

namespace {

// Whether some finite numbers give an infinite one or nan.
bool has_poles(Opcode op) {
  static constexpr Opcode kAll[] = {
      Opcode::kSqrt,   Opcode::kRsqrt,   Opcode::kRcbrt,    Opcode::kLog,  Opcode::kLog2,   Opcode::kLog10,
      Opcode::kLog1p,  Opcode::kTan,     Opcode::kAsin,     Opcode::kAcos, Opcode::kAcosh,  Opcode::kAtanh,
      Opcode::kErfinv, Opcode::kGamma,   Opcode::kDiv,      Opcode::kMod,  Opcode::kLgamma, Opcode::kFmod,
      Opcode::kPow,    Opcode::kDigamma, Opcode::kTrigamma,
  };
  return std::ranges::find(kAll, op) != std::end(kAll);
}

// A part of a formula where inputs have certain values.
struct Part {
  std::optional<double> value;  // nothing: depends on an input without one
  bool is_given = false;        // an element, or a number of the program's, perhaps after what has no poles
};

// What a formula gives where inputs have these values; nothing where that depends on an input without one. Zero times
// what is given is zero here: elements that are not stored stay so beside nan and infinity, too. Zero times what a
// pole may have made is not. With `divides`, zero divided by what is given is zero, too.
std::optional<double> value_where(const Formula& formula, std::span<const std::optional<double>> inputs,
                                  std::span<const double> parameters, bool divides) {
  std::unordered_map<const void*, Part> parts;
  for (const Expr& x : topological_order(formula.outputs)) {
    double arguments[3] = {0.0, 0.0, 0.0};
    bool is_known = true, is_given = true, has_zero = false, begins_with_zero = false;
    for (int i = 0; i < x.arity(); ++i) {
      const Part& argument = parts.at(x.argument(i).node());
      arguments[i] = argument.value.value_or(0.0);
      is_known &= argument.value.has_value();
      is_given &= argument.is_given;
      has_zero |= argument.value == 0.0;
      begins_with_zero |= i == 0 && argument.value == 0.0;
    }
    const bool stays_zero = x.arity() > 0 && ((x.opcode() == Opcode::kMul && has_zero) ||
                                              (divides && x.opcode() == Opcode::kDiv && begins_with_zero));
    Part& part = parts[x.node()];
    part.is_given = is_given && (x.arity() == 0 || !has_poles(x.opcode()));
    if (x.kind() == Expr::Kind::kConstant)
      part.value = x.value();
    else if (x.kind() == Expr::Kind::kParameter)
      part.value = parameters[static_cast<size_t>(x.index())];
    else if (x.kind() == Expr::Kind::kInput)
      part.value = inputs[static_cast<size_t>(x.index())];
    else if (stays_zero && is_given)
      part.value = 0.0;
    else if (is_known)
      part.value = evaluate(x.opcode(), arguments[0], arguments[1], arguments[2]);
  }
  return parts.at(formula.outputs[0].node()).value;
}

}  // namespace

bool keeps_zero(const OpDef& op, const Attrs& attrs, std::span<const NDArray> inputs) {
  SmallVector<double, 8> parameters;
  append_parameters(*op.pointwise, attrs, parameters);
  std::vector<std::optional<double>> values;
  bool has_smaller = false;
  for (const NDArray& input : inputs) {
    values.push_back(input.storage_kind() == StorageKind::kDense ? std::nullopt : std::optional(0.0));
    has_smaller |= input.size() != inputs[0].size();
  }
  return value_where(op.pointwise->formula, values, {parameters.data(), parameters.size()}, has_smaller) == 0.0;
}

namespace {

// The places of all inputs together, and where each of them has them.
struct Union {
  std::vector<int64_t> indices;            // in the order of the result
  std::vector<int64_t> row_begin;          // of csr
  std::vector<std::vector<int64_t>> from;  // by input, for each place: its number among those stored there, or -1
};

// Merges the ascending indices of all inputs between begin and end.
void merge(std::span<const SparseParts* const> parts, std::span<const int64_t> begin, std::span<const int64_t> end,
           Union& all) {
  std::vector<int64_t> at(begin.begin(), begin.end());
  while (true) {
    int64_t least = -1;
    for (size_t i = 0; i < parts.size(); ++i)
      if (at[i] < end[i] && (least < 0 || parts[i]->index()[at[i]] < least)) least = parts[i]->index()[at[i]];
    if (least < 0) return;
    all.indices.push_back(least);
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool has = at[i] < end[i] && parts[i]->index()[at[i]] == least;
      all.from[i].push_back(has ? at[i]++ : -1);
    }
  }
}

Union unite(std::span<const SparseParts* const> parts, StorageKind kind, int64_t rows) {
  Union all;
  all.from.resize(parts.size());
  std::vector<int64_t> begin(parts.size()), end(parts.size());
  if (kind == StorageKind::kRowSparse) {
    for (size_t i = 0; i < parts.size(); ++i) end[i] = parts[i]->count();
    merge(parts, begin, end, all);
    return all;
  }
  all.row_begin.push_back(0);
  for (int64_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < parts.size(); ++i) {
      begin[i] = parts[i]->row_begin()[r];
      end[i] = parts[i]->row_begin()[r + 1];
    }
    merge(parts, begin, end, all);
    all.row_begin.push_back(static_cast<int64_t>(all.indices.size()));
  }
  return all;
}

bool is_same_places(std::span<const SparseParts* const> parts) {
  const SparseParts& first = *parts[0];
  return std::all_of(parts.begin() + 1, parts.end(), [&](const SparseParts* other) {
    if (other->indices.view() == first.indices.view()) return true;
    return other->count() == first.count() &&
           std::equal(first.index(), first.index() + first.count(), other->index()) &&
           (!first.indptr ||
            std::equal(first.row_begin(), first.row_begin() + first.indptr.size(), other->row_begin()));
  });
}

// The values of one input at all places.
NDArray spread(const SparseParts& parts, const std::vector<int64_t>& from, const Shape& shape) {
  NDArray made = NDArray::empty(shape, parts.values.dtype());
  const size_t entry = from.empty() ? 0 : made.view()->storage()->bytes() / from.size();
  char* to = made.view()->data();
  for (int64_t place : from) {
    if (place < 0)
      std::memset(to, 0, entry);
    else
      std::memcpy(to, parts.values.view()->data() + static_cast<size_t>(place) * entry, entry);
    to += entry;
  }
  return made;
}

// The elements of a dense array at the places of a sparse one of this shape, to which it broadcasts where that is csr.
NDArray gathered(const View& dense, const SparseParts& places, const Shape& shape) {
  NDArray made = NDArray::empty(places.values.shape(), dense.dtype());
  const size_t item = item_size(dense.dtype());
  char* to = made.view()->data();
  if (!places.indptr) {
    const size_t row = static_cast<size_t>(row_size(dense.shape())) * item;
    for (int64_t i = 0; i < places.count(); ++i, to += row)
      std::memcpy(to, dense.data() + static_cast<size_t>(places.index()[i]) * row, row);
    return made;
  }
  int64_t strides[2];
  broadcast_strides(dense.shape(), contiguous_strides(dense.shape()), shape, strides);
  for (int64_t r = 0; r < shape[0]; ++r)
    for (int64_t i = places.row_begin()[r]; i < places.row_begin()[r + 1]; ++i, to += item)
      std::memcpy(to, dense.data() + static_cast<size_t>(r * strides[0] + places.index()[i] * strides[1]) * item, item);
  return made;
}

}  // namespace

void run_pointwise_sparse(SparseContext& context, const Attrs& attrs) {
  const View& output = context.output();
  const StorageKind kind = output.storage()->kind();
  std::vector<const SparseParts*> parts;
  for (size_t i = 0; i < context.input_count(); ++i)
    if (kind_of(context.input(i)) == kind) parts.push_back(&context.parts(i));
  SparseParts result;
  Union all;
  const bool same_places = is_same_places(parts);
  if (same_places) {
    result = {NDArray::empty(parts[0]->values.shape(), output.dtype()), parts[0]->indices, parts[0]->indptr};
  } else {
    all = unite(parts, kind, output.shape()[0]);
    result = context.make(0, static_cast<int64_t>(all.indices.size()));
    std::ranges::copy(all.indices, result.index());
    if (result.indptr) std::ranges::copy(all.row_begin, result.row_begin());
  }
  std::vector<NDArray> values;
  size_t sparse = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const View& input = context.input(i);
    if (kind_of(input) != kind)
      values.push_back(gathered(input, result, output.shape()));
    else if (same_places)
      values.push_back(parts[sparse++]->values);
    else {
      values.push_back(spread(*parts[sparse], all.from[sparse], result.values.shape()));
      ++sparse;
    }
  }
  std::vector<View*> views;
  for (const NDArray& one : values) views.push_back(one.view().get());
  View* const to = result.values.view().get();
  if (to->size() > 0) run_pointwise(context.op(), attrs, static_cast<ComputeType>(context.ticket()), views, {&to, 1});
  context.set(0, std::move(result));
}

}  // namespace headrace
