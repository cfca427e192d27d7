#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <optional>

#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/normalization/batch_norm.cuh"
#include "ops/normalization/batch_norm.h"
#include "ops/normalization/memory_order.h"
#include "ops/reduce/rows.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/normalization/batch_norm.cuh";
constexpr const char* kPacksHeader = "ops/normalization/batch_norm_packs.cuh";
constexpr unsigned kThreads = 256;  // as in op/device/group.cuh
constexpr int kAcross = 8;          // threads to a channel whose neighbours lie beside it
constexpr int kPartThreads = 32;    // to a channel, where sums of parts are added
constexpr int64_t kRowsOfThread = 16;
constexpr int64_t kElementsOfPart = 4096;
constexpr int64_t kMostParts = 64;

KernelGrid grid_of_channels(int64_t channels) { return grid_of(channels * kPartThreads); }

// How threads share channels that lie side by side, see batch_norm_packs.cuh.
struct Packing {
  int pack = 1, across = 1;  // channels of a thread, threads to the channels of a row
  device::BatchSpace space{};

  Packing(const device::BatchSpace& whole, size_t item) : space(whole) {
    constexpr int64_t kMostPartsOfSums = 256;
    pack = static_cast<int>(kPackBytes / item);
    const auto packs = static_cast<uint64_t>((whole.channels + pack - 1) / pack);
    across = static_cast<int>(std::bit_ceil(std::min<uint64_t>(packs, kThreads)));
    const int64_t least = kThreads / across * kRowsOfThread;
    space.of_part = std::max(least, (whole.count + kMostPartsOfSums - 1) / kMostPartsOfSums);
    space.parts = std::max<int64_t>(1, (whole.count + space.of_part - 1) / space.of_part);
  }
  KernelGrid grid() const {
    const int64_t columns = int64_t{across} * pack;
    return {blocks_for((space.channels + columns - 1) / columns * space.parts), kThreads};
  }
};

device::ChannelVector vector_of(const Tensor& t) { return {t.data, t.strides[0]}; }

// One call: what it computes in, and how its elements lie.
class BatchCall {
 public:
  BatchCall(KernelContext& c, int64_t axis, const std::string& activation, DType parameters)
      : relu_(activation == "relu") {
    const Tensor& result = c.output(0);
    const int64_t at = normalize_axis(axis, static_cast<int64_t>(result.shape.size()), c.name());
    const AxisSpace along = AxisSpace::along(result.shape, at);
    const bool is_last = result.size == 0 || (lies_channels_last(result) && at == 1);
    space_ = {.channels = along.length, .inner = is_last ? 1 : along.inner, .count = result.size / along.length};
    const int64_t wanted = std::clamp<int64_t>(space_.count / kElementsOfPart, 1, kMostParts);
    space_.of_part = std::max<int64_t>(1, (space_.count + wanted - 1) / wanted);
    space_.parts = std::max<int64_t>(1, (space_.count + space_.of_part - 1) / space_.of_part);
    if (space_.inner == 1 && space_.count > 0 && space_.channels % (kPackBytes / item_size(result.dtype)) == 0)
      packing_.emplace(space_, item_size(result.dtype));
    compute_ = compute_name(result.dtype);
    element_ = element_name(result.dtype);
    parameter_ = element_name(parameters);
  }

  const device::BatchSpace& space() const { return space_; }

  // Also says how many there are.
  double* sums(KernelContext& c, const void* x, const void* dy, const device::BatchAffineArguments& affine) {
    const bool is_packed = packs({x, dy});
    if (is_packed) space_ = packing_->space;
    auto* const sums = c.workspace<double>(2 * space_.parts * space_.channels);
    const device::BatchSumArguments arguments{x, dy, sums, space_, affine};
    if (is_packed) {
      launch_packed("batch_sums_packed", fmt::format("{}, {}", dy != nullptr, dy != nullptr && relu_),
                    "BatchSumArguments", arguments);
      return sums;
    }
    const bool across = space_.inner == 1;
    const int width = across ? kAcross : static_cast<int>(kThreads);
    const int64_t of_block = kThreads / width, blocks = (space_.channels + of_block - 1) / of_block * space_.parts;
    launch_cuda(
        {kHeader,
         fmt::format("batch_sums<{}, {}, {}, {}, {}>", types(), width, across, dy != nullptr, dy != nullptr && relu_),
         "BatchSumArguments"},
        {blocks_for(blocks), kThreads}, arguments);
    return sums;
  }

  // `sums`: null where the moving statistics are taken.
  void statistics(KernelContext& c, const BatchNormCore& a, const void* x, const double* sums) const {
    const device::BatchStatisticsArguments arguments{.x = x,
                                                     .sums = sums,
                                                     .mean = vector_of(c.output(1)),
                                                     .inverse = vector_of(c.output(2)),
                                                     .moving_mean = vector_of(c.input(3)),
                                                     .moving_variance = vector_of(c.input(4)),
                                                     .gamma = vector_of(c.input(1)),
                                                     .space = space_,
                                                     .eps = a.eps,
                                                     .momentum = a.momentum,
                                                     .sets_gamma = sums && a.fix_gamma};
    launch_cuda({kHeader, fmt::format("batch_statistics<{}, {}>", element_, parameter_), "BatchStatisticsArguments"},
                grid_of_channels(space_.channels), arguments);
  }

  void normalize(const void* x, void* y, const device::BatchAffineArguments& affine) const {
    if (space_.count == 0) return;
    if (packs({x, y}))
      return launch_packed("batch_normalize_packed", fmt::format("{}", relu_), "BatchNormalizeArguments",
                           device::BatchNormalizeArguments{x, y, packing_->space, affine});
    launch_cuda({kHeader, fmt::format("batch_normalize<{}, {}>", types(), relu_), "BatchNormalizeArguments"},
                grid_of(space_.count * space_.channels), device::BatchNormalizeArguments{x, y, space_, affine});
  }

  // What gradients of data lose.
  void* slopes(KernelContext& c, const BatchNormBack& a, const double* sums) const {
    void* const slopes = c.workspace<double>(2 * space_.channels);
    const device::BatchSlopeArguments arguments{.sums = sums,
                                                .slopes = slopes,
                                                .inverse = vector_of(c.input(5)),
                                                .dgamma = vector_of(c.output(1)),
                                                .dbeta = vector_of(c.output(2)),
                                                .space = space_,
                                                .fix_gamma = a.fix_gamma,
                                                .through_statistics = a.through_statistics};
    launch_cuda({kHeader, fmt::format("batch_slopes<{}, {}>", compute_, parameter_), "BatchSlopeArguments"},
                grid_of_channels(space_.channels), arguments);
    return slopes;
  }

  void gradient(device::BatchGradientArguments arguments) const {
    if (space_.count == 0) return;
    if (packs({arguments.x, arguments.dy, arguments.dx})) {
      arguments.space = packing_->space;
      return launch_packed("batch_gradient_packed", fmt::format("{}", relu_), "BatchGradientArguments", arguments);
    }
    launch_cuda({kHeader, fmt::format("batch_gradient<{}, {}>", types(), relu_), "BatchGradientArguments"},
                grid_of(space_.count * space_.channels), arguments);
  }

 private:
  bool packs(std::initializer_list<const void*> data) const {
    return packing_ && std::ranges::all_of(data, begins_pack);
  }

  template <class Arguments>
  void launch_packed(const char* function, const std::string& flags, const char* arguments_name,
                     const Arguments& arguments) const {
    launch_cuda(
        {kPacksHeader, fmt::format("{}<{}, {}, {}, {}>", function, types(), packing_->pack, packing_->across, flags),
         arguments_name},
        packing_->grid(), arguments);
  }

  std::string types() const { return fmt::format("{}, {}, {}", compute_, element_, parameter_); }

  const bool relu_;
  device::BatchSpace space_{};
  std::optional<Packing> packing_;  // where channels lie side by side
  const char* compute_;
  std::string element_, parameter_;
};

template <class Attrs>
void normalize_forward(KernelContext& c, const Attrs& a, const BatchCall& call, const void* x, const Tensor& mean,
                       const Tensor& inverse) {
  call.normalize(x, c.output(0).data,
                 {.mean = vector_of(mean),
                  .inverse = vector_of(inverse),
                  .gamma = vector_of(c.input(1)),
                  .beta = vector_of(c.input(2)),
                  .fix_gamma = a.fix_gamma});
}

void train_cuda(KernelContext& c, const BatchNormCore& a) {
  if (c.output(1).size == 0) return;
  BatchCall call(c, a.axis, a.activation, c.output(1).dtype);
  const void* const x = in_order_of(c, c.input(0), c.output(0).strides);
  call.statistics(c, a, x, call.sums(c, x, nullptr, {}));
  normalize_forward(c, a, call, x, c.output(1), c.output(2));
}

void predict_cuda(KernelContext& c, const BatchNormCore& a) {
  if (c.output(1).size == 0) return;
  BatchCall call(c, a.axis, a.activation, c.output(1).dtype);
  const void* const x = in_order_of(c, c.input(0), c.output(0).strides);
  call.statistics(c, a, x, nullptr);
  normalize_forward(c, a, call, x, c.output(1), c.output(2));
}

void again_cuda(KernelContext& c, const BatchNormAgain& a) {
  if (c.output(0).size == 0) return;
  const BatchCall call(c, a.axis, a.activation, c.input(1).dtype);
  normalize_forward(c, a, call, in_order_of(c, c.input(0), c.output(0).strides), c.input(3), c.input(4));
}

void backward_cuda(KernelContext& c, const BatchNormBack& a) {
  if (c.output(1).size == 0) return;
  BatchCall call(c, a.axis, a.activation, c.output(1).dtype);
  const Strides& order = c.output(0).strides;
  const void *const dy = in_order_of(c, c.input(0), order), *const x = in_order_of(c, c.input(1), order);
  const device::BatchAffineArguments affine{.mean = vector_of(c.input(4)),
                                            .inverse = vector_of(c.input(5)),
                                            .gamma = vector_of(c.input(2)),
                                            .beta = vector_of(c.input(3)),
                                            .fix_gamma = a.fix_gamma};
  const void* const slopes = call.slopes(c, a, call.sums(c, x, dy, affine));
  call.gradient({x, dy, slopes, c.output(0).data, call.space(), affine});
}

void affine_cuda(KernelContext& c, double eps, bool fix_gamma) {
  const int64_t channels = c.output(0).size;
  if (channels == 0) return;
  const device::BatchAffineOfStatistics arguments{.gamma = c.input(0).as<const float>(),
                                                  .beta = c.input(1).as<const float>(),
                                                  .mean = c.input(2).as<const float>(),
                                                  .variance = c.input(3).as<const float>(),
                                                  .scale = c.output(0).as<float>(),
                                                  .shift = c.output(1).as<float>(),
                                                  .channels = channels,
                                                  .eps = static_cast<float>(eps),
                                                  .fix_gamma = fix_gamma};
  launch_cuda({kHeader, "batch_affine", "BatchAffineOfStatistics"}, grid_of(channels), arguments);
}

}  // namespace

void add_batch_norm_cuda(KernelTable& table) {
  table.set_part(batch_norm_train, train_cuda);
  table.set_part(batch_norm_predict, predict_cuda);
  table.set_part(batch_norm_again, again_cuda);
  table.set_part(batch_norm_backward, backward_cuda);
  table.set_part(batch_norm_affine, affine_cuda);
  table.set_own_kernels({"_batch_norm_affine", "_batch_norm_train", "_batch_norm_predict", "_batch_norm_again",
                         "_sync_batch_norm_apply", "_backward_BatchNorm"});
}

}  // namespace headrace
