#include "backend/sim/protected_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/machine.h"
#include "device/stream.h"

namespace headrace {
namespace {

void protect(uintptr_t block, size_t bytes, int allowed) {
  if (mprotect(reinterpret_cast<void*>(block), bytes, allowed) == 0) return;
  fail(ErrorKind::kMemory,
       "strict simulation: the pages of a block of {} bytes cannot be protected: {}. Each block takes mappings of its "
       "own: use fewer arrays, or raise vm.max_map_count.",
       bytes, std::strerror(errno));
}

// A signal handler is given nothing but the signal.
ProtectedMemory* watched = nullptr;
struct sigaction handler_before;

// What is none of ours happens again under the handler that was there before.
void on_segmentation_fault(int signal, siginfo_t* info, void*) {
  watched->report(info->si_addr);
  sigaction(signal, &handler_before, nullptr);
}

}  // namespace

ProtectedMemory::ProtectedMemory() {
  page_bytes();
  watched = this;
  struct sigaction handler = {};
  handler.sa_sigaction = on_segmentation_fault;
  handler.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&handler.sa_mask);
  sigaction(SIGSEGV, &handler, &handler_before);
}

// The page behind a block is part of no block: nothing can run from one into the next.
void* ProtectedMemory::make(Device device, size_t bytes) {
  const size_t page = page_bytes(), pages = (bytes + page - 1) / page * page;
  void* const mapped =
      mmap(nullptr, pages + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(mapped != MAP_FAILED, ErrorKind::kMemory, "{}: the host has no {} bytes of memory for it: {}",
        to_string(device), bytes, std::strerror(errno));
  const uintptr_t block = reinterpret_cast<uintptr_t>(mapped) + page;
  std::memset(reinterpret_cast<void*>(block), kGarbage, pages);
  protect(block, pages + page, PROT_NONE);
  std::lock_guard guard(mutex_);
  blocks_.emplace(block, Block{device, pages});
  return reinterpret_cast<void*>(block);
}

void ProtectedMemory::remove(void* block) noexcept {
  std::lock_guard guard(mutex_);
  const auto found = find(block);
  munmap(static_cast<char*>(block) - page_bytes(), found->second.bytes + 2 * page_bytes());
  blocks_.erase(found);
}

void ProtectedMemory::hand_out(const void* block) noexcept {
  std::lock_guard guard(mutex_);
  find(block)->second.is_in_use = true;
}

void ProtectedMemory::take_back(const void* block) noexcept {
  open(block);
  std::lock_guard guard(mutex_);
  Block& own = find(block)->second;
  std::memset(const_cast<void*>(block), kGarbage, own.bytes);
  protect(reinterpret_cast<uintptr_t>(block), own.bytes, PROT_NONE);
  own.opened = 0;
  own.is_in_use = false;
}

ProtectedMemory::Blocks::iterator ProtectedMemory::find(const void* address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  return at - found->first < found->second.bytes + page_bytes() ? found : blocks_.end();
}

void ProtectedMemory::open(const void* address) {
  std::lock_guard guard(mutex_);
  const auto found = find(address);
  check(
      found != blocks_.end() && found->second.is_in_use, ErrorKind::kRuntime,
      "strict simulation: device code says that it touches {}, which is {}; run_on_device() takes addresses in blocks "
      "that the arrays of the work hold, or its scratch",
      address, found == blocks_.end() ? "no memory of a GPU" : "memory that has been given back");
  if (found->second.opened == 0) protect(found->first, found->second.bytes, PROT_READ | PROT_WRITE);
  ++found->second.opened;
}

void ProtectedMemory::close(const void* address) noexcept {
  std::lock_guard guard(mutex_);
  const auto found = find(address);
  if (--found->second.opened == 0) protect(found->first, found->second.bytes, PROT_NONE);
}

void ProtectedMemory::report(const void* address) noexcept {
  bool is_locked = mutex_.try_lock();
  for (int tries = 0; !is_locked && tries < 1000; ++tries) {
    usleep(100);
    is_locked = mutex_.try_lock();
  }
  const auto found = is_locked ? find(address) : blocks_.end();
  if (found == blocks_.end()) {
    if (is_locked) mutex_.unlock();
    return;
  }
  const auto [block, own] = *found;
  const bool is_device_code = current_work() && !is_launching();
  char text[512];
  const int length = std::snprintf(
      text, sizeof text,
      "headrace: %s touched memory of %s(%d) outside of a kernel or copy%s: address %p, byte %zu of a block of %zu "
      "bytes%s. Only device code may touch an accelerator's memory: kernels, copies and what run_on_device() is given "
      "(docs/devices.md, strict simulation).\n",
      is_device_code ? "device code" : "host code", own.device.type == DeviceType::kGpu ? "gpu" : "device",
      own.device.id, is_device_code ? " that it had declared" : "", address,
      static_cast<size_t>(reinterpret_cast<uintptr_t>(address) - block), own.bytes,
      own.is_in_use ? "" : " that has been given back");
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<size_t>(length));
  std::abort();
}

}  // namespace headrace
