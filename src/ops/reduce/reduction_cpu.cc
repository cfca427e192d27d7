#include <algorithm>

#include "backend/cpu/parallel.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "ops/reduce/reduction.h"

namespace headrace {
namespace {

constexpr int64_t kChunk = 1 << 16;     // elements that one thread combines into one partial result
constexpr int64_t kColumns = 1024;      // accumulators that stay in the first-level cache
constexpr int64_t kShortRun = 16;       // runs so short are combined many at a time
constexpr int64_t kEnoughResults = 16;  // so many independent results need no splitting
constexpr int64_t kMostPartials = 32;   // per result, when rows are combined side by side
constexpr int64_t kLongStretch = 64;
constexpr double kNsPerByte = 0.08;

// The space as an innermost run of one kind (kept or reduced) and the dimensions around it.
struct Layout {
  SmallVector<int64_t, 6> kept, kept_strides, reduced, reduced_strides;
  int64_t kept_count = 1, reduced_count = 1;  // without the innermost run
  int64_t inner = 1;
  bool inner_reduced = true;

  Layout(const Shape& shape, AxisSet axes) {
    struct Run {
      int64_t extent, stride;
      bool reduced;
    };
    SmallVector<Run, 8> runs;  // innermost first
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
      if (shape[d] == 1) continue;
      const bool goes = (axes >> d) & 1;
      if (!runs.empty() && runs.back().reduced == goes)
        runs.back().extent *= shape[d];
      else
        runs.push_back({shape[d], stride, goes});
    }
    if (runs.empty()) return;
    inner = runs[0].extent;
    inner_reduced = runs[0].reduced;
    for (size_t r = runs.size(); r-- > 1;) {
      (runs[r].reduced ? reduced : kept).push_back(runs[r].extent);
      (runs[r].reduced ? reduced_strides : kept_strides).push_back(runs[r].stride);
      (runs[r].reduced ? reduced_count : kept_count) *= runs[r].extent;
    }
  }

  static int64_t offset(int64_t index, const SmallVector<int64_t, 6>& extents, const SmallVector<int64_t, 6>& strides) {
    if (extents.size() == 1) return index * strides[0];
    int64_t result = 0;
    for (size_t d = extents.size(); d-- > 0; index /= extents[d]) result += index % extents[d] * strides[d];
    return result;
  }
  int64_t kept_offset(int64_t index) const { return offset(index, kept, kept_strides); }
  int64_t reduced_offset(int64_t index) const { return offset(index, reduced, reduced_strides); }
  // Rows that lie one after another, or 0 when they do not follow one stride.
  int64_t row_stride() const { return reduced.empty() ? inner : reduced.size() == 1 ? reduced_strides[0] : 0; }
};

// Elements after the prologue: the memory itself where nothing is to be computed. Belongs to one thread.
class Source {
 public:
  Source(const Program* program, ComputeType type, const Shape& space, std::span<const Operand> inputs,
         std::span<const double> parameters)
      : item_(static_cast<int64_t>(item_size(type))) {
    if (program)
      tiles_.emplace(*program, space, inputs, parameters);
    else
      memory_ = static_cast<const char*>(inputs[0].data);
  }
  bool is_memory() const noexcept { return memory_ != nullptr; }
  const void* memory(int64_t first) const noexcept { return memory_ + first * item_; }
  // Calls f(values, offset, n) over [first, first + n) in stretches.
  template <class F>
  void for_each(int64_t first, int64_t n, F&& f) {
    if (memory_) return f(memory(first), int64_t{0}, n);
    for (int64_t done = 0; done < n; done += kTile) {
      const int64_t now = std::min(kTile, n - done);
      f(tiles_->read(first + done, now), done, now);
    }
  }

 private:
  int64_t item_;
  const char* memory_ = nullptr;
  std::optional<TileReader> tiles_;
};

struct Job {
  const Layout& layout;
  const CombineKernels& kernels;
  const CombineKernels& merge;  // of partial results
  FunctionRef<Source()> open;
  int64_t accumulator_size;
  double cost;
  char* results;

  char* result(int64_t i) const { return results + i * accumulator_size; }
};

// Elements [begin, end) of those that go into result `o`, the innermost run being reduced.
void combine_range(const Job& job, Source& source, int64_t o, int64_t begin, int64_t end, void* accumulator) {
  const Layout& layout = job.layout;
  const int64_t base = layout.kept_offset(o);
  while (begin < end) {
    const int64_t row = begin / layout.inner, column = begin % layout.inner;
    const int64_t n = std::min(end - begin, layout.inner - column);
    source.for_each(base + layout.reduced_offset(row) + column, n,
                    [&](const void* x, int64_t, int64_t count) { job.kernels.run(accumulator, x, count); });
    begin += n;
  }
}

// One short run for each result, all of them one after another in the space.
void reduce_short_runs(const Job& job) {
  const int64_t n = job.layout.inner, group = kTile / n;
  parallel_for(job.layout.kept_count, kChunk / n, job.cost, [&](int64_t begin, int64_t end) {
    Source source = job.open();
    const int64_t step = source.is_memory() ? end - begin : group;
    for (int64_t o = begin; o < end; o += step) {
      const int64_t count = std::min(step, end - o);
      source.for_each(o * n, count * n,
                      [&](const void* x, int64_t, int64_t) { job.kernels.runs(job.result(o), x, n, count); });
    }
  });
}

void reduce_runs(KernelContext& context, const Job& job) {
  const int64_t results = job.layout.kept_count, per_result = job.layout.reduced_count * job.layout.inner;
  if (job.layout.reduced.empty() && job.layout.inner <= kShortRun && results > 1) return reduce_short_runs(job);
  if (results >= kEnoughResults || per_result < 2 * kChunk) {
    parallel_for(results, std::max<int64_t>(1, kChunk / std::max<int64_t>(per_result, 1)), job.cost,
                 [&](int64_t begin, int64_t end) {
                   Source source = job.open();
                   for (int64_t o = begin; o < end; ++o) combine_range(job, source, o, 0, per_result, job.result(o));
                 });
    return;
  }
  const int64_t chunks = (per_result + kChunk - 1) / kChunk;
  char* partials = context.workspace<char>(results * chunks * job.accumulator_size);
  job.kernels.clear(partials, results * chunks);
  parallel_for(results * chunks, 1, job.cost, [&](int64_t begin, int64_t end) {
    Source source = job.open();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % chunks * kChunk;
      combine_range(job, source, i / chunks, first, std::min(first + kChunk, per_result),
                    partials + i * job.accumulator_size);
    }
  });
  for (int64_t o = 0; o < results; ++o)
    job.merge.run(job.result(o), partials + o * chunks * job.accumulator_size, chunks);
}

// Rows [begin, end) of result block `o` into `inner` accumulators, the innermost run being kept.
void combine_rows(const Job& job, Source& source, int64_t o, int64_t begin, int64_t end, char* accumulators) {
  const Layout& layout = job.layout;
  const int64_t base = layout.kept_offset(o), stride = layout.row_stride();
  if (source.is_memory() && stride != 0) {
    for (int64_t column = 0; column < layout.inner; column += kColumns)
      job.kernels.rows(accumulators + column * job.accumulator_size, source.memory(base + begin * stride + column),
                       stride, end - begin, std::min(kColumns, layout.inner - column));
    return;
  }
  // Short rows that lie one after another are read many at a time.
  const int64_t together = stride == layout.inner ? std::max<int64_t>(1, kTile / layout.inner) : 1;
  for (int64_t row = begin; together > 1 && row < end; row += together) {
    const int64_t count = std::min(together, end - row);
    source.for_each(base + row * stride, count * stride, [&](const void* x, int64_t, int64_t) {
      job.kernels.rows(accumulators, x, stride, count, layout.inner);
    });
  }
  for (int64_t row = begin; together == 1 && row < end; ++row)
    source.for_each(base + layout.reduced_offset(row), layout.inner, [&](const void* x, int64_t column, int64_t n) {
      job.kernels.rows(accumulators + column * job.accumulator_size, x, 0, 1, n);
    });
}

void reduce_rows(KernelContext& context, const Job& job) {
  const int64_t blocks = job.layout.kept_count, rows = job.layout.reduced_count, inner = job.layout.inner;
  const int64_t chunks = blocks >= kEnoughResults
                             ? 1
                             : std::clamp<int64_t>(rows * inner / kChunk, 1, std::min(kMostPartials, (rows + 15) / 16));
  const int64_t rows_per_chunk = (rows + chunks - 1) / chunks;
  char* partials = job.results;
  if (chunks > 1) {
    partials = context.workspace<char>(blocks * chunks * inner * job.accumulator_size);
    job.kernels.clear(partials, blocks * chunks * inner);
  }
  const int64_t grain = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, rows_per_chunk * inner));
  parallel_for(blocks * chunks, grain, job.cost, [&](int64_t begin, int64_t end) {
    Source source = job.open();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = std::min(rows, i % chunks * rows_per_chunk);
      combine_rows(job, source, i / chunks, first, std::min(rows, first + rows_per_chunk),
                   partials + i * inner * job.accumulator_size);
    }
  });
  if (chunks == 1) return;
  for (int64_t o = 0; o < blocks; ++o)
    job.merge.rows(job.result(o * inner), partials + o * chunks * inner * job.accumulator_size, inner, chunks, inner);
}

}  // namespace

ComputeType reduction_compute_type(DType input, DType output) noexcept {
  if (is_floating(input))
    return input == DType::kFloat64 || output == DType::kFloat64 ? ComputeType::kFloat64 : ComputeType::kFloat32;
  if (is_floating(output)) return ComputeType::kFloat64;
  return compute_type_of(item_size(input) > item_size(output) ? input : output);
}

const Program* Reduction::prologue_of(const Shape& space, std::span<const Operand> inputs, ComputeType type) const {
  const bool is_memory = !has_prologue_ && inputs[0].dtype == dtype_of(type) &&
                         is_contiguous(space, Strides(inputs[0].strides, inputs[0].strides + space.size()));
  return is_memory ? nullptr : &prologue(type);
}

void reduce_on_host(KernelContext& context, const Reduction& reduction, const Shape& space,
                    std::span<const Operand> inputs, AxisSet axes, const Tensor& output,
                    const ReductionOptions& options) {
  if (output.size == 0) return;
  const ComputeType type = options.type.value_or(reduction_compute_type(inputs[0].dtype, output.dtype));
  const ComputeType held = accumulator_type(reduction.combine(), type);
  const DType held_dtype = dtype_of(held);
  const Layout layout(space, axes);
  const CombineKernels& kernels = combine_kernels(reduction.combine(), type);
  const CombineKernels& merge = combine_kernels(reduction.combine(), held);

  const bool in_place = output.dtype == held_dtype;
  char* results = in_place ? output.as<char>() : context.workspace<char>(output.size * 8);
  kernels.clear(results, output.size);
  const int64_t elements = element_count(space);
  if (elements > 0) {
    const Program* program = reduction.prologue_of(space, inputs, type);
    const auto bytes = static_cast<double>(elements) * static_cast<double>(item_size(inputs[0].dtype));
    const double cost = bytes * kNsPerByte + (program ? cost_ns(*program, elements) : 0);
    const Strides packed = contiguous_strides(space);
    Operand values{nullptr, dtype_of(type), packed.data()};
    if (program && elements <= kFewElements) {
      values.data = context.workspace(static_cast<size_t>(elements) * item_size(type));
      headrace::run(*program, space, inputs, {&values, 1}, options.parameters);
      inputs = {&values, 1};
      program = nullptr;
    }
    const auto open = [&] { return Source(program, type, space, inputs, options.parameters); };
    const Job job{layout, kernels, merge, open, static_cast<int64_t>(item_size(held)), cost, results};
    if (layout.inner_reduced)
      reduce_runs(context, job);
    else
      reduce_rows(context, job);
  }
  if (options.initial) {
    const Program::Scalar seed = reduction.epilogue(held).to_scalar(*options.initial);
    for (int64_t i = 0; i < output.size; ++i) merge.run(results + i * static_cast<int64_t>(item_size(held)), &seed, 1);
  }
  const Program& last = reduction.epilogue(held);
  if (in_place && last.num_parameters() == 0) return;
  const Shape flat{output.size};
  const int64_t unit = 1;
  const Operand from{results, held_dtype, &unit}, to{output.data, output.dtype, &unit};
  const double count = options.count.value_or(static_cast<double>(reduced_count(space, axes)));
  headrace::run(last, flat, {&from, 1}, {&to, 1}, {&count, static_cast<size_t>(last.num_parameters())});
}

const decltype(reduction_part) reduction_part{"reduction", reduce_on_host};

void Reduction::run(KernelContext& context, const Shape& space, std::span<const Operand> inputs, AxisSet axes,
                    const Tensor& output, const ReductionOptions& options) const {
  reduction_part(context, *this, space, inputs, axes, output, options);
}

SmallVector<size_t, 6> memory_order(const Shape& shape, const Strides& strides, AxisSet axes) {
  SmallVector<size_t, 6> order;
  for (size_t d = 0; d < shape.size(); ++d) order.push_back(d);
  if (std::ranges::is_sorted(strides, std::ranges::greater())) return order;
  const SmallVector<size_t, 6> given = order;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  size_t last_kept = 0;
  for (size_t d : order) {
    if ((axes >> d) & 1 || shape[d] == 1) continue;
    if (d < last_kept) return given;
    last_kept = d;
  }
  return order;
}

bool has_long_stretches(const Shape& space, AxisSet axes) {
  const Layout layout(space, axes);
  if (element_count(space) <= kFewElements || layout.inner >= kLongStretch) return true;
  return layout.inner_reduced ? layout.reduced.empty() && layout.inner <= kShortRun
                              : layout.row_stride() == layout.inner;
}

void Reduction::run(KernelContext& context, const Tensor& input, AxisSet axes, const Tensor& output,
                    const ReductionOptions& options) const {
  Shape space;
  Strides strides;
  AxisSet reduced = 0;
  for (size_t d : memory_order(input.shape, input.strides, axes)) {
    reduced |= ((axes >> d) & 1) << space.size();
    space.push_back(input.shape[d]);
    strides.push_back(input.strides[d]);
  }
  const Operand operand{input.data, input.dtype, strides.data()};
  run(context, space, {&operand, 1}, reduced, output, options);
}

}  // namespace headrace
