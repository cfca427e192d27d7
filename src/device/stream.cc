#include "device/stream.h"

#include <utility>

#include "device/accelerator.h"

namespace headrace {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit StreamScope::State current;

}  // namespace

Stream* current_stream() noexcept { return current.stream; }

Device current_device() noexcept { return current.stream ? current.stream->accelerator().device() : Device{}; }

Work* current_work() noexcept { return current.work; }

Recorder* current_recorder() noexcept { return current.recorder; }

StreamScope::StreamScope(Stream& stream, Work& work, Recorder* recorder) noexcept
    : outer_(std::exchange(current, {&stream, &work, recorder})) {}

StreamScope::~StreamScope() { current = outer_; }

}  // namespace headrace
