#include "device/stream.h"

#include <utility>

#include "device/accelerator.h"

namespace headrace {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit Stream* running = nullptr;

}  // namespace

Stream* current_stream() noexcept { return running; }

Device current_device() noexcept { return running ? running->accelerator().device() : Device{}; }

StreamScope::StreamScope(Stream& stream) noexcept : outer_(std::exchange(running, &stream)) {}

StreamScope::~StreamScope() { running = outer_; }

}  // namespace headrace
