#include "collective/operations.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "collective/gang_exchange.h"
#include "collective/lost_values.h"
#include "engine/runtime.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::collective {
namespace {

constexpr double kTellCostNs = 500;

std::string call_text(const char* operation, const std::string& name, const NDArray& value, const std::string& more) {
  return fmt::format("{}{}({} of shape {}{})", operation, name.empty() ? "" : " of " + name + " ",
                     dtype_name(value.dtype()), to_string(value.shape()), more);
}

NDArray on_host(const NDArray& value) {
  const NDArray given = value.detach();
  return contiguous(given.device().is_host() ? given : copied_to(given, {}));
}

NDArray back(const NDArray& result, Device device) { return device.is_host() ? result : copied_to(result, device); }

// A call on its way through the engine.
struct Exchange {
  Exchange(Group& of, RequestPtr call, NDArray given, NDArray result, Work what)
      : group(of), request(std::move(call)), input(std::move(given)), output(std::move(result)), work(what) {}
  // Where the values could not be computed the first task is never run: the others are told.
  ~Exchange() {
    if (!is_told) fail_without(input, group, request);
  }

  static std::byte* data_of(const NDArray& array) {
    return array.size() > 0 ? reinterpret_cast<std::byte*>(array.view()->data()) : nullptr;
  }

  void tell() {
    work.input = data_of(input);
    work.output = data_of(output);
    const auto rank = static_cast<size_t>(group.rank());
    if (work.what == Work::What::kGather)
      put_own(std::accumulate(work.sizes.begin(), work.sizes.begin() + group.rank(), size_t{0}), work.sizes[rank]);
    if (work.what == Work::What::kGatherShares) {
      const Portion own = group.machines().shares(work.elements)[rank];
      put_own(own.begin * item_size(work.dtype), own.size * item_size(work.dtype));
    }
    is_told = true;
    group.ready(request, work, urgency);
  }

  void put_own(size_t offset, size_t bytes) const {
    if (bytes > 0) std::memcpy(work.output + offset, work.input, bytes);
  }

  Group& group;
  const RequestPtr request;
  const NDArray input, output;  // in host memory, packed; nobody else knows the output yet
  Work work;
  const int urgency = thread_state().urgency;
  bool is_told = false;
};

// Two tasks: one tells the group that the values are there, and waits for nothing; one waits for the group. So however
// many calls wait here for other ranks, these learn what this one is ready for.
void push(std::shared_ptr<Exchange> exchange) {
  Var* const read = &exchange->input.view()->storage()->var();
  Var* const written = &exchange->output.view()->storage()->var();
  TaskSpec spec{.name = "distributed begin",
                .reads = {&read, 1},
                .writes = {&written, 1},
                .cost_ns = kTellCostNs,
                .priority = Priority::kHigh,
                .urgency = exchange->urgency,
                .fresh_writes = exchange->input.view() != exchange->output.view()};
  runtime().engine.push(spec, [exchange] { exchange->tell(); });
  spec.name = "distributed exchange";
  spec.cost_ns = Engine::kInlineCostNs;
  spec.bytes = static_cast<double>(exchange->input.size() * static_cast<int64_t>(item_size(exchange->input.dtype())));
  spec.fresh_writes = false;
  spec.may_block = true;
  runtime().engine.push(spec, [exchange = std::move(exchange)] { exchange->group.wait(*exchange->request); });
}

NDArray exchanged(Group& group, const std::string& name, std::string call, const NDArray& input, NDArray output,
                  Work work) {
  work.dtype = input.dtype();
  const bool is_joined = work.what == Work::What::kGatherShares;
  work.elements = static_cast<size_t>(is_joined ? output.size() : input.size());
  push(std::make_shared<Exchange>(group, group.announce(name, std::move(call)), input, output, std::move(work)));
  return output;
}

// What libraries of accelerators have: sums. Which of two nans is the greater one they do not say.
RankGang* gang_for_fold(Group& group, Fold fold, const NDArray& value) {
  return fold == Fold::kSum ? gang_of(group, value, partial_dtype(fold, value.dtype())) : nullptr;
}

// The entries of this rank, where all ranks have as many.
NDArray part_of_rank(const Group& group, const NDArray& block, const Shape& shape) {
  const int64_t elements = block.size() / group.size();
  return view_of(block, {shape, contiguous_strides(shape), group.rank() * elements});
}

void check_root(const char* operation, const Group& group, int root) {
  check(root >= 0 && root < group.size(), ErrorKind::kValue, "{}: root {} is no rank; they are 0 to {}", operation,
        root, group.size() - 1);
}

void check_size(const char* operation, size_t bytes) {
  check(bytes < kMostBytes, ErrorKind::kValue,
        "{}: {} bytes are too many for one call, which moves less than {}; make "
        "several",
        operation, bytes, kMostBytes);
}

// One of each rank. Who is interrupted leaves what it has gathered to the others' exchange.
std::vector<int64_t> gather_numbers(Group& group, const std::string& name, const std::string& call, int64_t own) {
  const auto numbers = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(group.size()));
  (*numbers)[static_cast<size_t>(group.rank())] = own;
  group.run(name, call,
            {.what = Work::What::kGather,
             .output = reinterpret_cast<std::byte*>(numbers->data()),
             .sizes = std::vector<size_t>(numbers->size(), sizeof(int64_t)),
             .held = numbers});
  return std::move(*numbers);
}

}  // namespace

NDArray all_reduce(Group& group, const std::string& name, Fold fold, const NDArray& value) {
  std::string call = call_text("all_reduce", name, value, fmt::format(", {}", fold_name(fold)));
  if (RankGang* const gang = gang_for_fold(group, fold, value)) {
    const NDArray block = block_of(*gang, value, partial_dtype(fold, value.dtype()));
    exchange_block(group, *gang, name, std::move(call), block, value.dtype(),
                   {.what = Work::What::kFold, .fold = fold});
    return from_block(block, value.dtype(), value.device());
  }
  const NDArray input = on_host(value), output = NDArray::empty(value.shape(), value.dtype());
  return back(exchanged(group, name, std::move(call), input, output, {.what = Work::What::kFold, .fold = fold}),
              value.device());
}

NDArray reduce_scatter(Group& group, const std::string& name, Fold fold, const NDArray& value) {
  Shape part = value.shape();
  check(!part.empty() && part[0] % group.size() == 0, ErrorKind::kValue,
        "reduce_scatter: expected an array whose first axis can be divided by the {} ranks, got shape {}", group.size(),
        to_string(value.shape()));
  check_size("reduce_scatter", static_cast<size_t>(value.size()) * item_size(value.dtype()));
  part[0] /= group.size();
  std::string call = call_text("reduce_scatter", name, value, fmt::format(", {}", fold_name(fold)));
  if (RankGang* const gang = gang_for_fold(group, fold, value)) {
    const NDArray block = block_of(*gang, value, partial_dtype(fold, value.dtype()));
    exchange_block(group, *gang, name, std::move(call), block, value.dtype(),
                   {.what = Work::What::kFoldParts, .fold = fold});
    const NDArray own = part_of_rank(group, block, part);
    return from_block(copied_to(own, own.device()), value.dtype(), value.device());
  }
  const NDArray input = on_host(value), output = NDArray::empty(part, value.dtype());
  return back(exchanged(group, name, std::move(call), input, output, {.what = Work::What::kFoldParts, .fold = fold}),
              value.device());
}

NDArray reduce_share(Group& group, const std::string& name, Fold fold, const NDArray& value) {
  const size_t own = group.machines().shares(static_cast<size_t>(value.size()))[static_cast<size_t>(group.rank())].size;
  const NDArray input = on_host(value), output = NDArray::empty({static_cast<int64_t>(own)}, value.dtype());
  return back(exchanged(group, name, call_text("reduce_share", name, value, fmt::format(", {}", fold_name(fold))),
                        input, output, {.what = Work::What::kFoldShare, .fold = fold}),
              value.device());
}

NDArray gather_shares(Group& group, const std::string& name, const NDArray& share, const Shape& shape) {
  const NDArray input = on_host(share), output = NDArray::empty(shape, share.dtype());
  check_size("gather_shares", static_cast<size_t>(output.size()) * item_size(output.dtype()));
  return back(exchanged(group, name, call_text("gather_shares", name, output, ""), input, output,
                        {.what = Work::What::kGatherShares}),
              share.device());
}

NDArray broadcast(Group& group, const std::string& name, const NDArray& value, int root) {
  check_root("broadcast", group, root);
  std::string call = call_text("broadcast", name, value, fmt::format(", root {}", root));
  if (RankGang* const gang = gang_of(group, value, DType::kUint8)) {
    const NDArray block = block_of(*gang, value, value.dtype());
    exchange_block(group, *gang, name, std::move(call), block, value.dtype(),
                   {.what = Work::What::kBroadcast, .root = root});
    return from_block(block, value.dtype(), value.device());
  }
  // A copy is written and read: what comes takes its place.
  const NDArray output = copied_to(on_host(value), {});
  return back(exchanged(group, name, std::move(call), output, output, {.what = Work::What::kBroadcast, .root = root}),
              value.device());
}

NDArray all_gather(Group& group, const std::string& name, const NDArray& value) {
  check(value.ndim() > 0, ErrorKind::kValue,
        "all_gather: expected an array with an axis along which to join, got a scalar");
  Shape shape = value.shape();
  const int64_t own = std::exchange(shape[0], 1);
  // Entries may differ in number, and in nothing else.
  const std::string call =
      fmt::format("all_gather{}({} of entries of shape {})", name.empty() ? "" : " of " + name + " ",
                  dtype_name(value.dtype()), to_string(shape));
  const std::vector<int64_t> counts = gather_numbers(group, name, call, own);
  const size_t entry = std::accumulate(shape.begin(), shape.end(), item_size(value.dtype()),
                                       [](size_t size, int64_t axis) { return size * static_cast<size_t>(axis); });
  std::vector<size_t> sizes;
  for (const int64_t count : counts) sizes.push_back(static_cast<size_t>(count) * entry);
  check_size("all_gather", std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
  shape[0] = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const bool is_even = std::ranges::all_of(counts, [&](int64_t count) { return count == own; });
  if (RankGang* const gang = is_even ? gang_of(group, value, DType::kUint8) : nullptr) {
    const NDArray block = NDArray::empty(shape, value.dtype(), gang->device());
    copy_into(part_of_rank(group, block, value.shape()), value.detach());
    exchange_block(group, *gang, name, call, block, value.dtype(),
                   {.what = Work::What::kGather, .sizes = std::move(sizes)});
    return from_block(block, value.dtype(), value.device());
  }
  const NDArray input = on_host(value), output = NDArray::empty(shape, value.dtype());
  return back(exchanged(group, name, call, input, output, {.what = Work::What::kGather, .sizes = std::move(sizes)}),
              value.device());
}

std::vector<std::vector<std::byte>> gather_bytes(Group& group, const std::string& name,
                                                 std::span<const std::byte> own) {
  const std::string call = "all_gather_object" + (name.empty() ? "" : " of " + name);
  const std::vector<int64_t> counts = gather_numbers(group, name, call, static_cast<int64_t>(own.size()));
  const std::vector<size_t> sizes(counts.begin(), counts.end());
  const size_t bytes = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  check_size("all_gather_object", bytes);
  const auto all = std::make_shared<std::vector<std::byte>>(bytes);
  std::copy(own.begin(), own.end(),
            all->begin() +
                static_cast<std::ptrdiff_t>(std::accumulate(sizes.begin(), sizes.begin() + group.rank(), size_t{0})));
  group.run(name, call, {.what = Work::What::kGather, .output = all->data(), .sizes = sizes, .held = all});
  std::vector<std::vector<std::byte>> parts;
  auto place = all->begin();
  for (const size_t size : sizes) {
    const auto end = place + static_cast<std::ptrdiff_t>(size);
    parts.emplace_back(place, end);
    place = end;
  }
  return parts;
}

std::vector<std::byte> broadcast_bytes(Group& group, const std::string& name, std::span<const std::byte> own,
                                       int root) {
  check_root("broadcast_object", group, root);
  const auto size = std::make_shared<uint64_t>(own.size());
  const std::string call = fmt::format("broadcast_object{} (root {})", name.empty() ? "" : " of " + name, root);
  group.run(name, call,
            {.what = Work::What::kBroadcast,
             .elements = sizeof(*size),
             .output = reinterpret_cast<std::byte*>(size.get()),
             .root = root,
             .held = size});
  const auto bytes = std::make_shared<std::vector<std::byte>>(*size);
  if (group.rank() == root) std::copy(own.begin(), own.end(), bytes->begin());
  group.run(name, call,
            {.what = Work::What::kBroadcast,
             .elements = bytes->size(),
             .output = bytes->data(),
             .root = root,
             .held = bytes});
  return std::move(*bytes);
}

void barrier(Group& group) { group.run("", "barrier", {}); }

}  // namespace headrace::collective
