#include "collective/gang_exchange.h"

#include <utility>

#include "base/check.h"
#include "collective/lost_values.h"
#include "device/stream.h"
#include "engine/runtime.h"
#include "ndarray/view.h"
#include "op/invoke.h"
#include "op/thread_state.h"

namespace headrace::collective {
namespace {

constexpr double kTellGangNs = 500;

std::byte* address_of(const NDArray& array) { return reinterpret_cast<std::byte*>(array.view()->address()); }

size_t byte_count(const NDArray& array) { return static_cast<size_t>(array.size()) * item_size(array.dtype()); }

// A call on its way through the engine.
struct GangExchange {
  GangExchange(Group& of, RankGang& by, RequestPtr asked, NDArray array, DType dtype_of_call, Work what)
      : group(of),
        gang(by),
        request(std::move(asked)),
        block(std::move(array)),
        dtype(dtype_of_call),
        work(std::move(what)) {}
  ~GangExchange() {
    if (!is_told) fail_without(block, group, request);
  }

  void tell() {
    work.input = work.output = address_of(block);
    is_told = true;
    group.ready(request, work, urgency);
  }

  void await_ranks() {
    if (group.is_wanted_on_host(*request)) pass_through_host();
    group.wait(*request);
  }

  // Only this task has access to the block, so that another array in its memory may be read meanwhile.
  void pass_through_host() {
    const StoragePtr memory(new Storage(gang.device(), byte_count(block), address_of(block), nullptr, [](void*) {}));
    const NDArray there(ViewPtr(new View(memory, block.dtype(), block.shape())));
    const NDArray input = cast_to(copied_to(there, {}), dtype);
    const int64_t parts = work.what == Work::What::kFoldParts ? group.size() : 1;
    const bool is_fold = work.what == Work::What::kFold || parts > 1;
    const NDArray output = is_fold ? NDArray::empty({block.size() / parts}, dtype) : input;
    input.wait_to_read();
    Work through = work;
    through.by_gang = false;
    through.dtype = dtype;
    through.input = address_of(input);
    through.output = address_of(output);
    group.ready(request, std::move(through), urgency);
    group.wait(*request);
    on_host = cast_to(output, block.dtype());
    on_host.wait_to_read();
  }

  // Launched on the stream of the gang.
  void bring() const {
    if (request->gang_call) return gang.await(request->gang_call);
    const size_t bytes = byte_count(on_host);
    const size_t before = work.what == Work::What::kFoldParts ? static_cast<size_t>(group.rank()) * bytes : 0;
    current_stream()->copy({gang.device(), address_of(block) + before}, {Device{}, address_of(on_host)}, bytes);
  }

  Group& group;
  RankGang& gang;
  const RequestPtr request;
  const NDArray block;
  const DType dtype;
  Work work;
  NDArray on_host;  // what came, where it has come through there
  const int urgency = thread_state().urgency;
  bool is_told = false;
};

}  // namespace

RankGang* gang_of(Group& group, const NDArray& value, DType dtype) {
  if (value.size() == 0) return nullptr;
  RankGang* const gang = group.gang_for(value.device());
  return gang && gang->knows(dtype) ? gang : nullptr;
}

NDArray block_of(RankGang& gang, const NDArray& value, DType dtype) {
  const KeepScope keep(false);  // there is nothing to keep yet
  const NDArray block = NDArray::empty(value.shape(), dtype, gang.device());
  copy_into(block, value.detach());
  return block;
}

NDArray from_block(const NDArray& block, DType dtype, Device device) {
  const NDArray result = block.dtype() == dtype ? block : cast_to(block, dtype);
  return result.device() == device ? result : copied_to(result, device);
}

// Three tasks. The first tells the group that the values are there, and waits for nothing; as it is the host's, it
// comes when the device has them, and errors of what computes them are known. The second waits for the group, the third
// has the device wait for the other ranks.
void exchange_block(Group& group, RankGang& gang, const std::string& name, std::string call, const NDArray& block,
                    DType dtype, Work work) {
  work.dtype = block.dtype();
  work.elements = static_cast<size_t>(block.size());
  work.by_gang = true;
  const auto exchange =
      std::make_shared<GangExchange>(group, gang, group.announce(name, std::move(call)), block, dtype, std::move(work));
  Var* const var = &block.view()->storage()->var();
  TaskSpec spec{.name = "distributed begin",
                .reads = {&var, 1},
                .writes = {&var, 1},
                .cost_ns = kTellGangNs,
                .priority = Priority::kHigh,
                .urgency = exchange->urgency};
  runtime().engine.push(spec, [exchange] { exchange->tell(); });
  spec.name = "distributed exchange";
  spec.cost_ns = Engine::kInlineCostNs;
  spec.may_block = true;
  runtime().engine.push(spec, [exchange] { exchange->await_ranks(); });
  spec.name = "distributed gang";
  spec.may_block = false;
  spec.stream = &gang.stream();
  spec.bytes = static_cast<double>(byte_count(block));
  runtime().engine.push(spec, [exchange] { exchange->bring(); });
}

}  // namespace headrace::collective
