#include <fmt/format.h>

#include <algorithm>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/reduce/row_width_cuda.h"
#include "ops/reduce/scan.cuh"
#include "ops/reduce/scan.h"

namespace headrace {
namespace {

constexpr int64_t kEnoughThreads = 1 << 16;  // keep a GPU busy
constexpr int64_t kMostScanChunks = 256;     // each thread adds up the sums of those before its own
constexpr int64_t kLeastTiles = 4;           // of a chunk

void scan_cuda(KernelContext& c, const Tensor& input, const AxisSpace& space, bool reverse, const Tensor& output) {
  if (input.size == 0) return;
  const RowWidth width(space.length, space.inner);
  const int64_t rows = space.outer * space.inner, tile = width.threads * device::kScanItems;
  // How rows are cut follows from the shape alone, so that sums do not depend on the GPU.
  const int64_t wanted =
      std::min({space.length / (kLeastTiles * tile), kEnoughThreads / (rows * width.threads), kMostScanChunks});
  device::ScanArguments arguments{input.data, output.data, nullptr, rows, space.length, space.inner, 1, space.length};
  const auto launch = [&](const char* function) {
    launch_cuda(
        {"ops/reduce/scan.cuh",
         fmt::format("{}<{}, {}, {}>", function, element_name(input.dtype), reverse, width.threads), "ScanArguments"},
        width.grid(rows * arguments.chunks), arguments);
  };
  if (wanted > 1) {
    arguments.chunk = (space.length + wanted - 1) / wanted;
    arguments.chunks = (space.length + arguments.chunk - 1) / arguments.chunk;
    arguments.totals = c.workspace<double>(rows * arguments.chunks);
    launch("scan_totals");
  }
  launch("scan");
}

}  // namespace

void add_scan_cuda(KernelTable& table) {
  table.set_part(cumulative_sum, scan_cuda);
  table.set_own_kernels({"_cumulative_sum"});
}

}  // namespace headrace
