#include "ndarray/device_copy.h"

#include <cstring>

#include "base/check.h"
#include "device/registry.h"
#include "device/stream.h"
#include "engine/runtime.h"

namespace headrace {
namespace {

// What a copy costs the host is next to nothing; the number tells the engine that it is worth a queue.
constexpr double kCopyCostNs = Engine::kInlineCostNs;

MemoryBlock block(const View& view) {
  Storage& storage = *view.storage();
  auto* const begin = static_cast<char*>(storage.address());
  if (!storage.is_borrowed()) check_contents(storage.device(), begin);
  return {storage.device(), begin + view.offset() * static_cast<int64_t>(item_size(view.dtype()))};
}

struct CopyBody {
  ViewPtr to, from;
  void operator()() const { copy_elements(*to, *from); }
};

}  // namespace

void copy_elements(const View& to, const View& from) {
  to.storage()->begin_write(to.covers_storage());
  const size_t bytes = static_cast<size_t>(from.size()) * item_size(from.dtype());
  const MemoryBlock target = block(to), source = block(from);
  if (Stream* const stream = current_stream())
    stream->copy(target, source, bytes);
  else
    std::memcpy(target.address, source.address, bytes);
}

void push_device_copy(const ViewPtr& to, const ViewPtr& from, int urgency, bool keeps) {
  if (from->size() == 0) return;
  Var* const read = &from->storage()->var();
  Var* const written = &to->storage()->var();
  // A write of a part does not make up for an earlier error in the rest.
  Var* const reads[] = {read, written};
  const size_t read_count = to->covers_storage() ? 1 : 2;
  runtime().engine.push(
      TaskSpec{.name = "copy",
               .reads = {reads, read_count},
               .writes = {&written, 1},
               .cost_ns = kCopyCostNs,
               .priority = Priority::kHigh,
               .urgency = urgency,
               .keeps = keeps,
               .stream = copy_stream(to->storage()->device(), from->storage()->device()),
               .bytes = static_cast<double>(from->size()) * static_cast<double>(item_size(from->dtype()))},
      CopyBody{to, from});
}

}  // namespace headrace
