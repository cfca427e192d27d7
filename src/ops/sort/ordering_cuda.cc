#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.h"
#include "ops/sort/ordering.cuh"
#include "ops/sort/ordering.h"
#include "ops/sort/radix.cuh"

namespace headrace {
namespace {

using device::kSortItems;
using device::kSortTile;
using device::Ordered;

// One call: passes, of which the last gives `result`.
class Ordering {
 public:
  Ordering(KernelContext& context, const Tensor& input, const AxisSpace& space, int64_t kept, bool ascending,
           Ordered result)
      : context_(context), dtype_(input.dtype), result_(result), has_places_(result != Ordered::kValues) {
    check(space.length <= int64_t{UINT32_MAX}, ErrorKind::kValue, "{}: {} elements along the axis are too many",
          context.name(), space.length);
    arguments_.from = input.data;
    arguments_.rows = space.outer * space.inner;
    arguments_.length = arguments_.count = space.length;
    arguments_.inner = space.inner;
    arguments_.kept = kept;
    arguments_.flip = ascending ? 0 : ~uint64_t{0};
  }

  void write_values(const Tensor* values) {
    if (values) arguments_.values = values->data;
  }
  void write_positions(const Tensor* positions) {
    if (!positions) return;
    arguments_.positions = positions->data;
    position_ = element_name(positions->dtype);
  }

  void run() {
    // A few of each tile are few altogether.
    const bool narrows = arguments_.kept <= kSortTile / 4;
    while (narrows && arguments_.count > kSortTile) sort_tiles(Ordered::kRuns, arguments_.kept);
    if (arguments_.count <= kSortTile) return sort_tiles(result_, arguments_.kept);
    if (!arguments_.keys && merges() > passes()) return sort_digits();
    sort_tiles(Ordered::kRuns, kSortTile);
    for (arguments_.width = kSortTile; arguments_.width < arguments_.count; arguments_.width *= 2)
      merge_runs(2 * arguments_.width < arguments_.count ? Ordered::kRuns : result_);
  }

 private:
  void sort_tiles(Ordered to, int64_t kept_of_tile) {
    const int64_t count = arguments_.count;
    arguments_.width =
        std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))), kSortItems, kSortTile);
    const int64_t tiles = (count + arguments_.width - 1) / arguments_.width;
    arguments_.kept_of_tile = kept_of_tile;
    arguments_.next_count = (tiles - 1) * kept_of_tile + std::min(kept_of_tile, count - (tiles - 1) * arguments_.width);
    const int64_t at_once = kSortTile / arguments_.width;
    launch(fmt::format("sort_tiles<{}, {}, {}, {}, static_cast<device::Ordered>({})>", element_name(dtype_), position_,
                       has_places_, arguments_.keys == nullptr, static_cast<int>(to)),
           (arguments_.rows * tiles + at_once - 1) / at_once, to == Ordered::kRuns);
  }

  void merge_runs(Ordered to) {
    arguments_.next_count = arguments_.count;
    const int64_t wanted = to == Ordered::kRuns ? arguments_.count : arguments_.kept;
    launch(fmt::format("merge_runs<{}, {}, {}, static_cast<device::Ordered>({})>", element_name(dtype_), position_,
                       has_places_, static_cast<int>(to)),
           arguments_.rows * ((wanted + kSortTile - 1) / kSortTile), to == Ordered::kRuns);
  }

  // What the pass leaves as runs, the next one begins with.
  void launch(const std::string& function, int64_t pieces, bool leaves_runs) {
    if (leaves_runs) make_room();
    launch_cuda({"ops/sort/ordering.cuh", function, "OrderingArguments"}, {blocks_for(pieces), device::kSortThreads},
                arguments_);
    if (!leaves_runs) return;
    arguments_.count = arguments_.next_count;
    go_on();
  }

  // For what the pass leaves.
  void make_room() {
    if (arguments_.next_keys) return;
    const int64_t room = arguments_.rows * arguments_.next_count;
    arguments_.next_keys = context_.workspace(static_cast<size_t>(room) * key_size());
    if (has_places_) arguments_.next_places = context_.workspace<uint32_t>(room);
  }

  // The next pass begins with what the last one left.
  void go_on() {
    void* const keys = const_cast<void*>(std::exchange(arguments_.keys, arguments_.next_keys));
    auto* const places = const_cast<uint32_t*>(std::exchange(arguments_.places, arguments_.next_places));
    arguments_.next_keys = keys;
    arguments_.next_places = places;
  }

  // Of all elements of a row: either so many merges of sorted tiles, or so many passes of digits.
  int64_t merges() const { return std::bit_width(static_cast<uint64_t>((arguments_.count - 1) / kSortTile)); }
  int64_t passes() const { return static_cast<int64_t>(key_size()) * 8 / device::kDigitBits; }

  void sort_digits() {
    const int64_t tile = device::radix_tile(key_size(), has_places_);
    const int64_t tiles = arguments_.rows * ((arguments_.length + tile - 1) / tile);
    const int64_t begins = arguments_.rows * passes() * device::kDigits, words = tiles * device::kDigits * 2;
    const int64_t cleared = begins + words + std::bit_ceil(static_cast<uint64_t>(passes()));
    auto* const memory = context_.workspace<uint32_t>(cleared);
    const auto of_words = reinterpret_cast<uint64_t*>(memory + begins);
    arguments_.next_count = arguments_.length;
    device::RadixArguments radix{arguments_, memory, of_words, memory + begins + words, cleared, 0, passes()};
    launch_digits("radix_clear", grid_of(cleared), radix);
    const std::string type = element_name(dtype_);
    launch_digits(fmt::format("radix_counts<{}, {}>", type, has_places_), {blocks_for(tiles), device::kSortThreads},
                  radix);
    launch_digits("radix_begins", {blocks_for(arguments_.rows * passes()), device::kSortThreads}, radix);
    for (; radix.pass < passes(); ++radix.pass) {
      const Ordered to = radix.pass + 1 < passes() ? Ordered::kRuns : result_;
      if (to == Ordered::kRuns) make_room();
      radix.ordering = arguments_;
      launch_digits(fmt::format("radix_pass<{}, {}, {}, {}, static_cast<device::Ordered>({})>", type, position_,
                                has_places_, radix.pass == 0, static_cast<int>(to)),
                    {blocks_for(tiles), device::kSortThreads}, radix);
      if (to == Ordered::kRuns) go_on();
    }
  }

  static void launch_digits(const std::string& function, KernelGrid grid, const device::RadixArguments& radix) {
    launch_cuda({"ops/sort/radix.cuh", function, "RadixArguments"}, grid, radix);
  }

  size_t key_size() const { return item_size(dtype_) == 8 ? sizeof(uint64_t) : sizeof(uint32_t); }

  KernelContext& context_;
  const DType dtype_;
  const Ordered result_;
  const bool has_places_;
  std::string position_ = "int64_t";
  device::OrderingArguments arguments_{};
};

void sort_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, bool ascending, const Tensor& output) {
  if (output.size == 0) return;
  Ordering ordering(c, input, space, space.length, ascending, Ordered::kValues);
  ordering.write_values(&output);
  ordering.run();
}

void select_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, int64_t k, bool ascending,
                 const Tensor* values, const Tensor* positions) {
  if (input.size == 0) return;
  Ordering ordering(c, input, space, k, ascending, Ordered::kFirst);
  ordering.write_values(values);
  ordering.write_positions(positions);
  ordering.run();
}

void mark_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, int64_t k, bool ascending,
               const Tensor& mask) {
  if (input.size == 0) return;
  fill(c, mask, int64_t{0});
  Ordering ordering(c, input, space, k, ascending, Ordered::kMask);
  ordering.write_values(&mask);
  ordering.run();
}

}  // namespace

void add_ordering_cuda(KernelTable& table) {
  table.set_part(sort_values, sort_cuda);
  table.set_part(select_first, select_cuda);
  table.set_part(mark_first, mark_cuda);
  table.set_own_kernels({"sort", "argsort", "topk"});
}

}  // namespace headrace
