#include "kvstore/host_reduce.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/parallel.h"
#include "engine/runtime.h"
#include "kvstore/reduction.h"
#include "op/call_body.h"
#include "op/formula/transfer.h"
#include "op/invoke.h"
#include "op/simd/memory.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

constexpr int64_t kTileElements = 2048;  // a tile of the reduction and of some values stay in the first-level cache
constexpr int64_t kGrainElements = 8 * kTileElements;

constexpr size_t kLeastStreamedBytes = 256 * 1024;

constexpr double kReducedByteNs = 0.06;

// What one task owns. All arrays lie in memory in one order without gaps. Large results end up in one memory, where
// they may: who writes one of them later gets memory of its own then, and who only reads has saved the copy.
class HostReduce {
 public:
  // The last `streamed` results are written past the caches.
  HostReduce(const Reduction& reduction, std::span<const NDArray> values, std::span<const NDArray> results,
             size_t streamed)
      : reduction_(reduction), cached_(results.size() - streamed) {
    for (const NDArray& value : values) values_.push_back(value.view());
    for (const NDArray& result : results) results_.push_back(result.view());
  }

  void operator()() const {
    const View* const lender = find_lender();
    std::vector<View*> written, borrowers;
    size_t cached = 0;  // how many of `written` are written as usual
    for (size_t i = 0; i < results_.size(); ++i) {
      View* const result = results_[i].get();
      if (lender && result != lender) {
        if (result->storage() == lender->storage()) continue;  // the same elements again
        if (may_share(*result)) {
          borrowers.push_back(result);
          continue;
        }
      }
      written.push_back(result);
      if (i < cached_) ++cached;
    }
    if (!written.empty()) pass(written, cached);
    for (View* borrower : borrowers) borrower->storage()->take_contents(*lender->storage());
  }

  // Of all arrays.
  double total_bytes() const noexcept {
    const auto arrays = static_cast<double>(values_.size() + results_.size());
    return arrays * static_cast<double>(values_[0]->size()) * static_cast<double>(bytes());
  }
  double cost_ns() const noexcept { return 50 + kReducedByteNs * total_bytes(); }

 private:
  using Pointers = SmallVector<char*, 8>;
  struct Targets {
    const Pointers& places;
    size_t cached;  // the others are written past the caches
  };

  DType dtype() const noexcept { return values_[0]->dtype(); }
  size_t bytes() const noexcept { return item_size(dtype()); }

  static bool may_share(const View& view) { return view.covers_storage() && view.storage()->may_share(); }

  bool is_value(const View& view) const {
    return std::ranges::any_of(values_, [&](const ViewPtr& value) { return value->storage() == view.storage(); });
  }

  // An array in whose memory others may lie at the end: the value that is passed on, or a result that is no value.
  const View* find_lender() const {
    if (values_.size() == 1) return may_share(*values_[0]) ? values_[0].get() : nullptr;
    const auto lends = [this](const ViewPtr& result) { return may_share(*result) && !is_value(*result); };
    const auto found = std::ranges::find_if(results_, lends);
    return found == results_.end() ? nullptr : found->get();
  }

  void pass(std::span<View* const> written, size_t cached) const {
    Pointers from, to;
    for (View* result : written) result->storage()->begin_write(result->covers_storage() && !is_value(*result));
    for (View* result : written) to.push_back(result->data());
    for (const ViewPtr& value : values_) from.push_back(value->data());
    parallel_for(values_[0]->size(), kGrainElements, cost_ns(), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kTileElements)
        reduce_tile(from, {to, cached}, at, std::min(kTileElements, end - at));
      if (cached < to.size()) simd::stream_fence();
    });
  }

  // Nothing is written before all is read: results may be values.
  void reduce_tile(const Pointers& from, const Targets& to, int64_t at, int64_t count) const {
    const size_t offset = static_cast<size_t>(at) * bytes(), length = static_cast<size_t>(count) * bytes();
    if (from.size() == 1) return write(from[0] + offset, to, offset, length);
    alignas(64) std::byte tile[kTileElements * sizeof(double)];
    const ComputeType compute = compute_type_of(dtype());
    combine_tile(from, offset, count, compute, tile);
    if (dtype() != dtype_of(compute)) {
      alignas(64) std::byte stored[kTileElements * sizeof(double)];
      store_function(compute, dtype())(tile, stored, 1, count);
      write(stored, to, offset, length);
    } else {
      write(tile, to, offset, length);
    }
  }

  // Leaves the reduction in `tile`, in the compute type.
  void combine_tile(const Pointers& from, size_t offset, int64_t count, ComputeType compute, void* tile) const {
    const int64_t step = 1;
    const Shape line{count};
    const Operand sum{tile, dtype_of(compute), &step};
    for (size_t done = 0; done < from.size();) {
      SmallVector<Operand, kMostAtOnce> operands;
      if (done > 0) operands.push_back(sum);
      for (; operands.size() < kMostAtOnce && done < from.size(); ++done)
        operands.push_back({from[done] + offset, dtype(), &step});
      const Program& program = formula_of(reduction_, operands.size())->program(compute);
      run(program, line, {operands.data(), operands.size()}, {&sum, 1}, {});
    }
    if (!reduction_.divides()) return;
    const double number = static_cast<double>(from.size());
    run(division().program(compute), line, {&sum, 1}, {&sum, 1}, {&number, 1});
  }

  static void write(const void* elements, const Targets& to, size_t offset, size_t length) {
    for (size_t i = 0; i < to.places.size(); ++i) {
      char* const place = to.places[i] + offset;
      if (i >= to.cached)
        simd::stream_copy(place, elements, length);
      else if (place != elements)
        std::memcpy(place, elements, length);
    }
  }

  // The formula by which Reduction::finish divides.
  static const Pointwise& division() {
    static const OpDef& operation = find_op("_div_scalar");
    return *operation.pointwise;
  }

  Reduction reduction_;
  std::vector<ViewPtr> values_, results_;
  size_t cached_;  // how many results are written as usual
};

// Whether a pass that follows memory meets the same elements in both.
bool lies_as(const NDArray& array, const NDArray& model) {
  return array.strides() == model.strides() || (array.is_contiguous() && model.is_contiguous());
}

// Writing one may change elements of the other that have not been read.
bool interfere(const NDArray& value, const NDArray& result) {
  return share_memory(value, result) && !same_elements(*value.view(), *result.view());
}

void push(const Reduction& reduction, std::span<const NDArray> values, std::span<const NDArray> results,
          size_t streamed) {
  SmallVector<Var*, 8> reads, writes;
  for (const NDArray& value : values) reads.push_back(&value.view()->storage()->var());
  for (const NDArray& result : results) {
    Var* const var = &result.view()->storage()->var();
    writes.push_back(var);
    if (!result.view()->covers_storage()) reads.push_back(var);  // what it leaves as it is keeps an earlier error
  }
  HostReduce body(reduction, values, results, streamed);
  const double cost = body.cost_ns(), bytes = body.total_bytes();
  runtime().engine.push(TaskSpec{.name = "kvstore reduce",
                                 .reads = {reads.data(), reads.size()},
                                 .writes = {writes.data(), writes.size()},
                                 .cost_ns = cost,
                                 .priority = thread_state().priority,
                                 .urgency = thread_state().urgency,
                                 .keeps = thread_state().keeps,
                                 .bytes = bytes},
                        std::move(body));
}

}  // namespace

void reduce_on_host(const Reduction& reduction, std::span<const NDArray> values, std::span<const NDArray> results,
                    const NDArray& kept, Extent extent) {
  std::vector<NDArray> sources(values.begin(), values.end());
  // What no result lies as is copied first: a pass writes at least one of them, or one that is packed.
  const auto lies_as_first = [&](const NDArray& one) { return lies_as(one, sources[0]); };
  const bool are_alike = is_dense(sources[0].shape(), sources[0].strides()) &&
                         std::ranges::all_of(sources, lies_as_first) &&
                         (std::ranges::any_of(results, lies_as_first) || (kept && lies_as_first(kept)));
  if (!are_alike)
    for (NDArray& source : sources) source = contiguous(source);
  const bool is_large = sources[0].view()->storage()->bytes() >= kLeastStreamedBytes;
  std::vector<NDArray> cached, streamed, late;  // late: what the pass cannot write
  for (const NDArray& result : results) {
    const auto interferes = [&](const NDArray& source) { return interfere(source, result); };
    const auto is_result = [&](const NDArray& source) { return share_memory(source, result); };
    if (!lies_as(result, sources[0]) || std::ranges::any_of(sources, interferes))
      late.push_back(result);
    else if (is_large && extent == Extent::kBeyondCaches && std::ranges::none_of(sources, is_result))
      streamed.push_back(result);
    else
      cached.push_back(result);
  }
  if (kept) (!lies_as(kept, sources[0]) ? late : is_large ? streamed : cached).push_back(kept);
  if (cached.empty() && streamed.empty())
    cached.push_back(NDArray::empty(sources[0].shape(), sources[0].dtype(), sources[0].device()));
  std::vector<NDArray> direct = cached;
  direct.insert(direct.end(), streamed.begin(), streamed.end());
  push(reduction, sources, direct, streamed.size());
  for (const NDArray& result : late) copy_into(result, direct[0]);
}

}  // namespace headrace::kvstore
