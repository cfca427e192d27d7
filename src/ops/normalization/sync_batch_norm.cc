#include "ops/normalization/sync_batch_norm.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "engine/runtime.h"
#include "headrace/arithmetic.hpp"
#include "ndarray/view.h"
#include "op/expect.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/thread_state.h"
#include "ops/normalization/batch_norm.h"
#include "ops/normalization/device_meeting.h"
#include "ops/normalization/memory_order.h"

namespace headrace {
namespace {

using Share = DeviceMeeting::Share;

constexpr double kBringCostNs = 1000;

// What the shares of all devices are together: how many values there are, and two numbers of each channel.
using Combine = Share (*)(const std::vector<Share>& shares);

// Means and variances of parts make those of the whole (Chan, Golub, LeVeque: Updating Formulae and a Pairwise
// Algorithm for Computing Sample Variances, 1979).
Share combined_statistics(const std::vector<Share>& shares) {
  Share all{0, std::vector<double>(shares[0].first.size()), std::vector<double>(shares[0].first.size())};
  for (const Share& share : shares) all.count += share.count;
  for (size_t c = 0; c < all.first.size(); ++c) {
    const auto sum_of = [&](auto&& term) {
      double sum = 0;
      for (const Share& share : shares)
        if (share.count > 0) sum += share.count * term(share);
      return sum / all.count;
    };
    const double mean = sum_of([&](const Share& share) { return share.first[c]; });
    all.first[c] = mean;
    all.second[c] = sum_of([&](const Share& share) {
      const double away = share.first[c] - mean;
      return share.second[c] + away * away;
    });
  }
  return all;
}

// Sums, divided by the number of values.
Share combined_sums(const std::vector<Share>& shares) {
  Share all{0, std::vector<double>(shares[0].first.size()), std::vector<double>(shares[0].first.size())};
  for (const Share& share : shares) {
    all.count += share.count;
    for (size_t c = 0; c < all.first.size(); ++c) {
      all.first[c] += share.first[c];
      all.second[c] += share.second[c];
    }
  }
  for (size_t c = 0; c < all.first.size(); ++c) {
    all.first[c] /= all.count;
    all.second[c] /= all.count;
  }
  return all;
}

// A call on its way through the engine: vectors of float64 in host memory that it brings, and that it takes.
struct Exchange {
  Exchange(DeviceMeeting::Seat at, double values, NDArray given, NDArray taken, Combine how)
      : seat(std::move(at)), count(values), input(std::move(given)), output(std::move(taken)), combine(how) {}
  // Where the values could not be computed the first task is never run: the others are told.
  ~Exchange() {
    if (!is_brought) seat.meeting->fail(seat.number, reason());
  }

  static double* data_of(const NDArray& array) { return reinterpret_cast<double*>(array.view()->data()); }
  size_t channels() const { return static_cast<size_t>(input.shape()[1]); }

  std::string reason() const noexcept {
    try {
      if (const std::exception_ptr error = input.view()->storage()->var().error()) std::rethrow_exception(error);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "its values were never computed";
  }

  void bring() {
    const double* const given = data_of(input);
    seat.meeting->bring(seat.number,
                        {count, {given, given + channels()}, {given + channels(), given + 2 * channels()}});
    is_brought = true;
  }

  void take() const {
    const bool waits = !runtime().engine.serial();
    const auto patience = waits ? std::chrono::nanoseconds(DeviceMeeting::kPatience) : std::chrono::nanoseconds(0);
    const std::vector<Share> shares = seat.meeting->await(patience);
    for (const Share& share : shares)
      check(share.first.size() == channels(), ErrorKind::kRuntime,
            "SyncBatchNorm: data on one device have {} channels, on another {}; layers need keys of their own",
            channels(), share.first.size());
    const Share all = combine(shares);
    double* const taken = data_of(output);
    std::ranges::copy(all.first, taken);
    std::ranges::copy(all.second, taken + channels());
  }

  const DeviceMeeting::Seat seat;
  const double count;
  const NDArray input, output;  // (2, channels), packed; nobody else knows the output yet
  const Combine combine;
  bool is_brought = false;
};

// Two tasks: one brings the values, and waits for nothing; one waits for the other devices.
void push(std::shared_ptr<Exchange> exchange) {
  Var* const read = &exchange->input.view()->storage()->var();
  Var* const written = &exchange->output.view()->storage()->var();
  TaskSpec spec{.name = "SyncBatchNorm bring",
                .reads = {&read, 1},
                .writes = {&written, 1},
                .cost_ns = kBringCostNs,
                .priority = Priority::kHigh,
                .fresh_writes = true};
  runtime().engine.push(spec, [exchange] { exchange->bring(); });
  spec.name = "SyncBatchNorm wait";
  spec.fresh_writes = false;
  spec.may_block = true;
  runtime().engine.push(spec, [exchange = std::move(exchange)] { exchange->take(); });
}

// Who meets, see DeviceMeeting::join.
struct Call {
  std::string name;
  int64_t devices = 1;
  uintptr_t member = 0;
};

struct Exchanged {
  NDArray first, second;
  int64_t meeting = 0, seat = 0;
};

// Two vectors of one dtype and device become two that hold what those of all devices make. `count`: how many values of
// each channel this device has.
Exchanged exchanged(const Call& who, double count, const NDArray& first, const NDArray& second, Combine combine) {
  const int64_t channels = first.size();
  const NDArray given = NDArray::empty({2, channels}, DType::kFloat64, {});
  const NDArray taken = NDArray::empty({2, channels}, DType::kFloat64, {});
  const auto row = [&](const NDArray& rows, int64_t i) { return view_of(rows, {first.shape(), {1}, i * channels}); };
  const auto result = [&](int64_t i) {
    const NDArray vector = NDArray::empty(first.shape(), first.dtype(), first.device());
    copy_into(vector, row(taken, i));
    return vector;
  };
  copy_into(row(given, 0), first);
  copy_into(row(given, 1), second);
  const auto seat = DeviceMeeting::join(who.name, static_cast<int>(who.devices), who.member);
  push(std::make_shared<Exchange>(seat, count, given, taken, combine));
  return {result(0), result(1), seat.meeting->number(), seat.number};
}

// Operators on data whose channels are axis 1, and on vectors of channels.
NDArray along_channels(const NDArray& vector, const NDArray& data) {
  Shape shape(data.ndim(), 1);
  shape[1] = vector.size();
  return call("_reshape_to", {vector}, {{"shape", shape}});
}
NDArray mean_of_channels(const NDArray& data) { return call("mean", {data}, {{"axis", Shape{1}}, {"exclude", true}}); }

double values_of_channel(const NDArray& data) {
  const int64_t channels = data.shape()[1];
  return channels > 0 ? static_cast<double>(data.size() / channels) : 0;
}

// `moving` becomes moving * momentum + value * (1 - momentum).
void update(const NDArray& moving, const NDArray& value, double momentum) {
  const NDArray kept = moving.off_tape() * momentum;
  copy_into(moving, kept + value * (1 - momentum));
}

struct ApplyAttrs {
  bool fix_gamma = true;
  std::string key = "";
  int64_t devices = 1, meeting = 0, seat = 0;  // of the forward call, whose backward calls meet again
  static constexpr auto kFields = fields(
      field(&ApplyAttrs::fix_gamma, "fix_gamma", "Whether gamma counts as 1."),
      field(&ApplyAttrs::key, "key", "Names the layer."),
      field(&ApplyAttrs::devices, "devices", "How many devices share statistics."),
      field(&ApplyAttrs::meeting, "meeting", "Which of all exchanges of statistics gave mean and inverse_deviation."),
      field(&ApplyAttrs::seat, "seat", "Which of the devices this is, in the order of the calls."));
};

void infer_apply(Infer& i, const ApplyAttrs&) {
  i.require(i.shape(0).size() >= 2, ErrorKind::kValue,
            "data must have at least two axes, the second being that of channels");
  infer_batch_norm_again(i, 1);
}

// Through the data alone, then through mean and variance, which depend on the data of all devices: with z the
// normalised data, s = gamma / deviation and means over all values of a channel,
// dx = s dy - s (mean(dy) + z mean(dy z)).
void apply_gradient(Gradient& g, const ApplyAttrs& a) {
  check(!thread_state().recording, ErrorKind::kRuntime,
        "SyncBatchNorm: gradients of gradients do not pass between devices; use BatchNorm where you take them");
  static const OpDef& backward = find_op("_backward_BatchNorm");
  const DType dtype = g.input(1).dtype();
  const NDArray data = cast_to(g.input(0), dtype), mean = g.input(3), inverse = g.input(4);
  const NDArray gamma = a.fix_gamma ? ones_like(g.input(1)) : g.input(1);
  const NDArray inputs[] = {cast_to(g.head(), dtype), data, gamma, g.input(2), mean, inverse};
  const BatchNormBack attrs{.axis = 1, .fix_gamma = false, .through_statistics = false};
  const std::vector<NDArray> found = invoke_all(backward, make_attrs(attrs), inputs);
  if (g.wants(0)) {
    const Call who{fmt::format("SyncBatchNorm {} (backward {})", a.key, a.meeting), a.devices,
                   static_cast<uintptr_t>(a.seat)};
    const Exchanged means = exchanged(who, values_of_channel(data), found[1], found[2], combined_sums);
    const NDArray scale = gamma * inverse;
    const NDArray slope = scale * inverse * means.first;
    const NDArray shift = scale * means.second - slope * mean;
    const NDArray through = data * along_channels(slope, data) + along_channels(shift, data);
    g.set(0, cast_to(found[0] - through, g.input(0).dtype()));
  }
  if (g.wants(1)) g.set(1, a.fix_gamma ? zeros_like(g.input(1)) : found[1]);
  if (g.wants(2)) g.set(2, found[2]);
}

}  // namespace

std::vector<NDArray> sync_batch_norm_train(std::span<const NDArray> in, const SyncBatchNorm& layer) {
  const NDArray &data = in[0], &gamma = in[1], &moving_mean = in[3], &moving_var = in[4];
  check(data.ndim() >= 2, ErrorKind::kValue, "SyncBatchNorm: data must have at least two axes, got shape {}",
        to_string(data.shape()));
  Exchanged all;
  NDArray inverse;
  {
    const ThreadStateScope scope(kWithoutRecording);
    const NDArray values = cast_to(data.off_tape(), gamma.dtype());
    const NDArray own_mean = mean_of_channels(values);
    const NDArray own_var = mean_of_channels(call("square", {values - along_channels(own_mean, values)}));
    const Call who{"SyncBatchNorm " + layer.key, layer.devices,
                   reinterpret_cast<uintptr_t>(moving_mean.view()->storage())};
    all = exchanged(who, values_of_channel(data), own_mean, own_var, combined_statistics);
    inverse = call("rsqrt", {all.second + layer.eps});
    update(moving_mean, all.first, layer.momentum);
    update(moving_var, all.second, layer.momentum);
    if (layer.fix_gamma) copy_into(gamma, ones_like(gamma.off_tape()));
  }
  static const OpDef& apply = find_op("_sync_batch_norm_apply");
  const ApplyAttrs attrs{layer.fix_gamma, layer.key, layer.devices, all.meeting, all.seat};
  const NDArray result = call(apply, make_attrs(attrs), {data, gamma, in[2], all.first, inverse});
  return {result, all.first, inverse};
}

OpDef sync_batch_norm_apply() {
  return general<ApplyAttrs>(
      {.name = "_sync_batch_norm_apply",
       .doc = "Batch normalisation of axis 1 with statistics that several devices have exchanged; backward exchanges "
              "what goes through them.",
       .inputs = {"data", "gamma", "beta", "mean", "inverse_deviation"},
       .infer = infer_apply,
       .kernel = [](KernelContext& c,
                    const ApplyAttrs& a) { batch_norm_again(c, {.axis = 1, .fix_gamma = a.fix_gamma}); },
       .gradient = apply_gradient,
       .own_gradient = true,
       .saves_inputs = kEverything,
       .strided_inputs = true,
       .unsampled = "its gradient waits for other devices"});
}

}  // namespace headrace
