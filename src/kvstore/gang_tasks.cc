#include "kvstore/gang_tasks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "device/registry.h"
#include "engine/runtime.h"
#include "kvstore/buckets.h"
#include "ndarray/view.h"
#include "op/thread_state.h"

namespace headrace::kvstore {
namespace {

constexpr const char* kNames[] = {"gang all_reduce", "gang reduce", "gang broadcast"};  // by GangTask::What

// By the numbers of their devices, as gangs have them.
std::vector<NDArray> in_order(std::span<const NDArray> buffers) {
  std::vector<NDArray> sorted(buffers.begin(), buffers.end());
  std::ranges::sort(sorted, {}, [](const NDArray& buffer) { return buffer.device().id; });
  return sorted;
}

// What the task does with the buffer at a place.
bool reads(const GangTask& task, size_t place) noexcept {
  return task.what != GangTask::What::kBroadcast || place == task.root;
}
bool writes(const GangTask& task, size_t place) noexcept {
  return task.what == GangTask::What::kAllReduce || (task.what == GangTask::What::kReduce) == (place == task.root);
}
// A write of a part does not make up for an earlier error in the rest.
bool replaces(const GangTask& task, size_t place, const View& buffer) noexcept {
  return !reads(task, place) && buffer.covers_storage();
}

struct GangBody {
  Gang* gang;
  GangTask task;
  std::vector<ViewPtr> buffers;

  void operator()() const {
    std::vector<void*> blocks;
    for (size_t place = 0; place < buffers.size(); ++place) {
      const View& buffer = *buffers[place];
      Storage& storage = *buffer.storage();
      if (writes(task, place)) storage.begin_write(replaces(task, place, buffer));
      auto* const begin = static_cast<std::byte*>(storage.address());
      if (!storage.is_borrowed()) check_contents(storage.device(), begin);
      blocks.push_back(begin + static_cast<size_t>(buffer.offset()) * item_size(buffer.dtype()));
    }
    gang->put(task, blocks);
  }
};

}  // namespace

Gang* find_gang(std::span<const NDArray> buffers) {
  const DeviceType type = buffers[0].device().type;
  if (buffers.size() < 2 || type != DeviceType::kGpu || buffers[0].size() == 0) return nullptr;
  std::vector<int> ids;
  for (const NDArray& buffer : in_order(buffers)) {
    if (buffer.device().type != type || (!ids.empty() && buffer.device().id == ids.back())) return nullptr;
    ids.push_back(buffer.device().id);
  }
  Gang* const gang = backend_of(type)->gang(ids);
  return gang && gang->knows(buffers[0].dtype()) ? gang : nullptr;
}

void run_gang(Gang& gang, GangTask::What what, std::span<const NDArray> buffers, size_t root) {
  const std::vector<NDArray> sorted = in_order(buffers);
  const auto place_of_root =
      std::ranges::find(sorted, buffers[root].device(), [](const NDArray& buffer) { return buffer.device(); });
  GangBody body{&gang,
                {.what = what,
                 .root = static_cast<size_t>(place_of_root - sorted.begin()),
                 .elements = static_cast<size_t>(sorted[0].size()),
                 .dtype = sorted[0].dtype()},
                {}};
  std::vector<Var*> read, written;
  for (size_t place = 0; place < sorted.size(); ++place) {
    const ViewPtr& buffer = body.buffers.emplace_back(sorted[place].view());
    Var* const var = &buffer->storage()->var();
    if (!replaces(body.task, place, *buffer)) read.push_back(var);
    if (writes(body.task, place)) written.push_back(var);
  }
  runtime().engine.push(TaskSpec{.name = kNames[static_cast<size_t>(what)],
                                 .reads = read,
                                 .writes = written,
                                 .cost_ns = Engine::kInlineCostNs,
                                 .priority = Priority::kHigh,
                                 .urgency = thread_state().urgency,
                                 .stream = &gang.stream(),
                                 .bytes = static_cast<double>(bytes_of(sorted[0]) * sorted.size())},
                        std::move(body));
}

}  // namespace headrace::kvstore
