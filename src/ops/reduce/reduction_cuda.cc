#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "op/catalogue.h"
#include "op/formula/source_cuda.h"
#include "op/formula/transfer.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/row_width_cuda.h"

namespace headrace {
namespace {

constexpr const char* kReductionKernel = "reduction";  // see kernel_name()
constexpr int kBlockThreads = 256;                     // as in op/device/group.cuh
constexpr int kWarp = 32;
constexpr int kLanesAcross = 8;  // threads to a result where neighbours belong to different ones
constexpr int64_t kShort = 16;   // so few elements are one thread's

// Dimensions of one kind, neighbours that all operands walk through evenly being one.
struct Dimensions {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // of each operand
  int64_t count = 1;

  explicit Dimensions(size_t operands) : strides(operands) {}

  void add(int64_t extent, std::span<const Operand> operands, size_t d) {
    count *= extent;
    if (extent == 1) return;
    bool is_even = !extents.empty();
    for (size_t k = 0; is_even && k < operands.size(); ++k)
      is_even = strides[k].back() == operands[k].strides[d] * extent;
    if (is_even) extents.back() *= extent;
    if (!is_even) extents.push_back(extent);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (is_even) strides[k].pop_back();
      strides[k].push_back(operands[k].strides[d]);
    }
  }
  // At least one.
  void finish() {
    if (!extents.empty()) return;
    extents.push_back(1);
    for (std::vector<int64_t>& own : strides) own.push_back(0);
  }
  int size() const { return static_cast<int>(extents.size()); }
  void write(KernelArguments& arguments) const {
    arguments.add_all(std::span(extents));
    for (const std::vector<int64_t>& own : strides) arguments.add_all(std::span(own));
  }
};

struct Layout {
  Dimensions kept, reduced;
  bool is_across = false;  // neighbours in memory go into different results

  Layout(const Shape& space, std::span<const Operand> inputs, AxisSet axes)
      : kept(inputs.size()), reduced(inputs.size()) {
    for (size_t d = 0; d < space.size(); ++d) ((axes >> d) & 1 ? reduced : kept).add(space[d], inputs, d);
    kept.finish();
    reduced.finish();
    const auto innermost = [](const Dimensions& dimensions) {
      return dimensions.count == 1 ? INT64_MAX : std::abs(dimensions.strides[0].back());
    };
    is_across = innermost(kept) < innermost(reduced);
  }
};

// As on the host, but that halves, which float32 holds exactly, stay in it.
ComputeType held_type(Combine combine, ComputeType type, DType input, DType output) {
  const auto is_half = [](DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; };
  return is_half(input) && is_half(output) ? ComputeType::kFloat32 : accumulator_type(combine, type);
}

// What the source of a kernel is made of.
struct ReductionKernel {
  const Formula& prologue;
  const Formula& epilogue;
  Combine combine;
  ComputeType type, held;  // of elements and of partial results
  std::vector<DType> inputs = {};
  DType output;
  int kept, reduced;  // dimensions
  int width;          // threads to a result, or, of packs, beside each other
  int pack = 0;       // neighbouring results of a thread; 0: it works on one
  int along = 0;      // neighbours, of one result, that it loads at once; 0: they do not lie together
  bool across = false, is_whole = true, has_initial;

  std::string call() const {
    if (pack > 0) return fmt::format("reduce_packs<headrace::Reduce, {}, {}>", pack, width);
    if (along > 0) return fmt::format("reduce_along<headrace::Reduce, {}, {}>", width, along);
    return fmt::format("reduce<headrace::Reduce, {}, {}>", width, across);
  }
  int64_t blocks(int64_t results, int64_t chunks) const {
    if (pack == 0) return (results * chunks * width + kBlockThreads - 1) / kBlockThreads;
    return (results + int64_t{width} * pack - 1) / (int64_t{width} * pack) * chunks;
  }
  // The threads that go through what one result is made of, together.
  int64_t threads_of_result() const { return pack > 0 ? kBlockThreads / width : width; }
};

struct Launch {
  ReductionKernel kernel;
  const Layout& layout;
  std::span<const Operand> inputs;
  void* output;
  int64_t chunks, chunk;
  double count;
  const ReductionOptions& options;
};

std::string source_of(const ReductionKernel& k) {
  std::vector<DType> elements = k.inputs;
  elements.push_back(dtype_of(k.type));
  const std::array results = {dtype_of(k.held), k.output};
  return fmt::format(R"(#define HEADRACE_DEVICE_CODE
#include "op/formula/special_functions.cc"
#include "op/formula/scalar.h"
#include "ops/reduce/reduction.cuh"

namespace headrace {{
{}{}struct Reduce {{
  using Prologue = headrace::Prologue;
  using Epilogue = headrace::Epilogue;
  using Held = Epilogue::Compute;
  static constexpr device::Combine kCombine = static_cast<device::Combine>({});
  static constexpr int kInputs = {}, kParameters = {}, kKept = {}, kReduced = {};
  static constexpr bool kIsWhole = {}, kHasInitial = {};
}};
}}  // namespace headrace

extern "C" __global__ void {}(const headrace::device::ReductionArguments<headrace::Reduce> arguments) {{
  headrace::device::{}(arguments);
}}
)",
                     formula_struct("Prologue", k.prologue, k.type, elements),
                     formula_struct("Epilogue", k.epilogue, k.held, results), static_cast<int>(k.combine),
                     k.inputs.size(), std::max(k.prologue.num_parameters, 1), k.kept, k.reduced, k.is_whole,
                     k.has_initial, kernel_name(kReductionKernel), k.call());
}

void launch_reduction(const Launch& l) {
  const ReductionKernel& kernel = l.kernel;
  KernelArguments key;  // by addresses: what operators are made of stays
  key.add(&kernel.prologue)
      .add(&kernel.epilogue)
      .add(kernel.type)
      .add(kernel.held)
      .add(kernel.output)
      .add(kernel.kept)
      .add(kernel.reduced);
  key.add(kernel.width)
      .add(kernel.pack)
      .add(kernel.along)
      .add(kernel.across)
      .add(kernel.is_whole)
      .add(kernel.has_initial)
      .add_all(std::span(kernel.inputs));
  KernelArguments arguments;
  arguments.add(l.layout.kept.count).add(l.layout.reduced.count).add(l.chunks).add(l.chunk);
  for (const Operand& input : l.inputs) arguments.add(input.data);
  arguments.add(l.output);
  l.layout.kept.write(arguments);
  l.layout.reduced.write(arguments);
  add_parameters(arguments, kernel.type, l.options.parameters);
  add_parameters(arguments, kernel.held, std::array{l.options.initial.value_or(0), l.count});
  launch_cuda_source(
      kReductionKernel, "reduction" + std::string(key.key()), [&] { return source_of(kernel); },
      {blocks_for(kernel.blocks(l.layout.kept.count, l.chunks)), kBlockThreads}, arguments.bytes());
}

// What cut results are put together with: they are elements that are results already.
const Formula& same() {
  static const Formula& formula = *new Formula{.num_inputs = 1, .outputs = {input(0)}};
  return formula;
}

// How many elements of an array are loaded at once where that begins at a multiple of theirs; 0: it does not.
int64_t pack_at(const Operand& input) {
  const size_t item = item_size(input.dtype), pack = kPackBytes / std::max<size_t>(item, 2);
  return reinterpret_cast<uintptr_t>(input.data) % (pack * item) == 0 ? static_cast<int64_t>(pack) : 0;
}

// How many neighbouring results a thread takes of one input whose kept elements lie side by side; 0: they do not.
int pack_of(const Layout& layout, std::span<const Operand> inputs) {
  if (inputs.size() != 1 || layout.kept.size() != 1 || layout.reduced.size() != 1) return 0;
  const int64_t pack = pack_at(inputs[0]), row = layout.reduced.strides[0][0];
  const bool is_even =
      pack > 0 && layout.kept.strides[0][0] == 1 && layout.kept.count % pack == 0 && row > 0 && row % pack == 0;
  return is_even ? static_cast<int>(pack) : 0;
}

// How many neighbours a thread loads at once of one input where the elements of a result lie side by side; 0: they do
// not.
int pack_along(const Layout& layout, std::span<const Operand> inputs) {
  if (inputs.size() != 1 || layout.reduced.size() != 1 || layout.reduced.strides[0][0] != 1) return 0;
  const int64_t pack = pack_at(inputs[0]);
  const bool is_even =
      pack > 0 && layout.reduced.count % pack == 0 &&
      std::ranges::all_of(layout.kept.strides[0], [pack](int64_t stride) { return stride % pack == 0; });
  return is_even ? static_cast<int>(pack) : 0;
}

// The threads that work on one result, or, of packs of results, beside each other.
int width_for(const Layout& layout, int pack) {
  const int64_t results = layout.kept.count, elements = layout.reduced.count;
  if (pack > 0)
    return static_cast<int>(
        std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(results / pack, 1, kBlockThreads))));
  if (layout.is_across) return kLanesAcross;
  if (elements <= kShort) return 1;
  return elements <= 32 * kWarp ? kWarp : kBlockThreads;
}

void reduce_cuda(KernelContext& context, const Reduction& reduction, const Shape& space,
                 std::span<const Operand> inputs, AxisSet axes, const Tensor& output, const ReductionOptions& options) {
  if (output.size == 0) return;
  const ComputeType type = options.type.value_or(reduction_compute_type(inputs[0].dtype, output.dtype));
  const ComputeType held = held_type(reduction.combine(), type, inputs[0].dtype, output.dtype);
  const Layout layout(space, inputs, axes);
  const int64_t results = layout.kept.count, elements = layout.reduced.count;
  const int pack = pack_of(layout, inputs);
  const int width = width_for(layout, pack);
  ReductionKernel kernel{.prologue = reduction.prologue(),
                         .epilogue = reduction.epilogue(),
                         .combine = reduction.combine(),
                         .type = type,
                         .held = held,
                         .output = output.dtype,
                         .kept = layout.kept.size(),
                         .reduced = layout.reduced.size(),
                         .width = width,
                         .pack = pack,
                         .along = pack == 0 && width >= kWarp ? pack_along(layout, inputs) : 0,
                         .across = layout.is_across,
                         .has_initial = options.initial.has_value()};
  for (const Operand& input : inputs) kernel.inputs.push_back(input.dtype);
  const double count = options.count.value_or(static_cast<double>(elements));
  const RowParts cut(elements, kernel.threads_of_result(), kernel.blocks(results, 1), std::max(kernel.along, 1));
  if (cut.count == 1) return launch_reduction({kernel, layout, inputs, output.data, 1, elements, count, options});
  void* const parts = context.workspace(static_cast<size_t>(results * cut.count) * item_size(held));
  kernel.is_whole = kernel.has_initial = false;
  launch_reduction({kernel, layout, inputs, parts, cut.count, cut.length, count, options});
  const std::array<int64_t, 2> strides = {cut.count, 1};
  const Operand partial{parts, dtype_of(held), strides.data()};
  const Layout rows(Shape{results, cut.count}, {&partial, 1}, 0b10);
  const ReductionOptions last{.initial = options.initial};
  const ReductionKernel merge{.prologue = same(),
                              .epilogue = reduction.epilogue(),
                              .combine = reduction.combine(),
                              .type = held,
                              .held = held,
                              .inputs = {dtype_of(held)},
                              .output = output.dtype,
                              .kept = rows.kept.size(),
                              .reduced = rows.reduced.size(),
                              .width = kWarp,
                              .has_initial = options.initial.has_value()};
  launch_reduction({merge, rows, {&partial, 1}, output.data, 1, cut.count, count, last});
}

}  // namespace

void add_reduction_cuda(KernelTable& table) {
  table.set_part(reduction_part, reduce_cuda);
  for (const OpDef& op : catalogue().all())
    if (op.fuse && op.inputs.size() == 1) table.set_own_kernel(op);  // those that are one reduction
  table.set_own_kernels({"_npi_std", "_npi_var", "moments", "multi_sum_sq"});
}

}  // namespace headrace
