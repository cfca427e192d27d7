#include "tests/cuda/stand_in/machine.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace stand_in {
namespace {

constexpr size_t kAlignment = 512;

thread_local std::vector<Context*> stack;  // of contexts, the current one last
thread_local bool is_in_host_function = false;
thread_local bool captures = false, is_capture_spoilt = false;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

char* reserve(size_t bytes, int protection) {
  void* const found = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) violation("the stand-in gets no memory");
  return static_cast<char*>(found);
}

size_t number_from(const char* name, size_t otherwise) {
  const char* const text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

void violation(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("stand-in for CUDA's driver: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::abort();
}

Memory::Memory(size_t bytes)
    : bytes_(bytes), closed_(reserve(bytes, PROT_NONE)), open_(reserve(bytes, PROT_READ | PROT_WRITE)) {}

// First fit. Between blocks lies memory that AddressSanitizer guards, as it does what is free again.
CUdeviceptr Memory::allocate(size_t bytes) {
  const size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  const std::lock_guard guard(mutex_);
  auto place = reinterpret_cast<CUdeviceptr>(closed_);
  for (const auto& [start, block] : blocks_) {
    if (start - place >= rounded) break;
    place = start + block.bytes;
  }
  if (place + rounded > reinterpret_cast<CUdeviceptr>(closed_) + bytes_) return 0;
  blocks_[place] = {.bytes = rounded};
  constexpr int kGarbage = 0xff;  // NaN, -1
  char* const block = open_ + (place - reinterpret_cast<CUdeviceptr>(closed_));
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  std::memset(block, kGarbage, bytes);
  ASAN_POISON_MEMORY_REGION(block + bytes, rounded - bytes);
  return place;
}

void Memory::release(CUdeviceptr address) {
  const std::lock_guard guard(mutex_);
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) violation("cuMemFree of an address that cuMemAlloc did not give, or a second time");
  if (block->second.uses > 0) violation("cuMemFree of memory that queued work still uses");
  ASAN_POISON_MEMORY_REGION(open_ + (address - reinterpret_cast<CUdeviceptr>(closed_)), block->second.bytes);
  blocks_.erase(block);
}

bool Memory::contains(CUdeviceptr address) const noexcept {
  return address >= reinterpret_cast<CUdeviceptr>(closed_) && address < reinterpret_cast<CUdeviceptr>(closed_) + bytes_;
}

std::map<CUdeviceptr, Memory::Block>::iterator Memory::block_of(CUdeviceptr address) {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) violation("an address of device memory that is not allocated");
  --after;
  if (address >= after->first + after->second.bytes) violation("an address of device memory that is not allocated");
  return after;
}

size_t Memory::free() const {
  const std::lock_guard guard(mutex_);
  size_t taken = 0;
  for (const auto& [start, block] : blocks_) taken += block.bytes;
  return bytes_ - taken;
}

char* Memory::find(CUdeviceptr address, size_t bytes) {
  if (!contains(address)) return nullptr;
  const std::lock_guard guard(mutex_);
  const auto block = block_of(address);
  if (address + bytes > block->first + block->second.bytes) violation("%zu bytes beyond the end of a block", bytes);
  return open_ + (address - reinterpret_cast<CUdeviceptr>(closed_));
}

void Memory::begin_use(CUdeviceptr address) {
  const std::lock_guard guard(mutex_);
  ++block_of(address)->second.uses;
}

void Memory::end_use(CUdeviceptr address) {
  const std::lock_guard guard(mutex_);
  --block_of(address)->second.uses;
}

Stream::Stream(Context& context) : context_(context), thread_([this] { run(); }) { thread_.detach(); }

void Stream::put(std::vector<CUdeviceptr> uses, std::function<void()> work) {
  if (capture_) {
    if (!captures) violation("a thread puts work on a stream on which another one captures");
    capture_->push_back({std::move(uses), std::move(work)});
    return;
  }
  for (const CUdeviceptr address : uses) machine().owner(address)->memory.begin_use(address);
  {
    const std::lock_guard guard(mutex_);
    items_.push_back({std::move(uses), std::move(work)});
  }
  has_items_.notify_one();
}

bool Stream::is_idle() {
  const std::lock_guard guard(mutex_);
  return items_.empty() && !is_busy_;
}

void Stream::begin_capture(CUstreamCaptureMode mode) {
  if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
    violation("cuStreamBeginCapture disturbs other threads, or trusts its own");
  if (captures || capture_) violation("cuStreamBeginCapture before the last capture has ended");
  if (!is_idle()) violation("cuStreamBeginCapture on a stream that has work");
  captures = true;
  is_capture_spoilt = false;
  capture_ = std::make_unique<Graph>();
}

std::unique_ptr<Graph> Stream::end_capture() {
  if (!captures || !capture_) violation("cuStreamEndCapture without a capture of this thread on this stream");
  captures = false;
  std::unique_ptr<Graph> graph = std::move(capture_);
  return is_capture_spoilt ? nullptr : std::move(graph);
}

// Each piece a moment after it was put there: what does not wait for it finds out.
void Stream::run() {
  std::unique_lock guard(mutex_);
  for (;;) {
    has_items_.wait(guard, [this] { return !items_.empty(); });
    const Item item = std::move(items_.front());
    items_.pop_front();
    is_busy_ = true;
    guard.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(1));
    item.work();
    for (const CUdeviceptr address : item.uses) machine().owner(address)->memory.end_use(address);
    guard.lock();
    is_busy_ = false;
  }
}

Machine::Machine()
    : compute_capability_(static_cast<int>(number_from("HEADRACE_STAND_IN_CAPABILITY", 90))), process_(::getpid()) {
  const size_t count = number_from("HEADRACE_STAND_IN_GPUS", 2);
  const size_t bytes = number_from("HEADRACE_STAND_IN_MEMORY", size_t{2} << 30);
  for (size_t device = 0; device < count; ++device)
    contexts_.push_back(std::unique_ptr<Context>(new Context{static_cast<int>(device), Memory(bytes), {}, {}}));
}

Context* Machine::current() const noexcept { return stack.empty() ? nullptr : stack.back(); }

void Machine::push(Context* context) { stack.push_back(context); }

Context* Machine::pop() {
  if (stack.empty()) violation("cuCtxPopCurrent without a context");
  Context* const popped = stack.back();
  stack.pop_back();
  return popped;
}

Context* Machine::owner(CUdeviceptr address) {
  for (const auto& context : contexts_)
    if (context->memory.contains(address)) return context.get();
  return nullptr;
}

// HEADRACE_STAND_IN_FAIL=call:n:code has the n-th call answer with the code, and all calls after it.
CUresult Machine::enter(const char* call) {
  if (is_in_host_function) violation("%s in code that cuLaunchHostFunc runs", call);
  if (::getpid() != process_) violation("%s in a child of the process that began to use the driver", call);
  static const std::string wanted = [] {
    const char* const text = std::getenv("HEADRACE_STAND_IN_FAIL");
    return std::string(text ? text : "");
  }();
  if (wanted.empty()) return CUDA_SUCCESS;
  const std::lock_guard guard(mutex_);
  const int count = ++calls_[call];
  const size_t first = wanted.find(':'), second = wanted.find(':', first + 1);
  if (wanted.substr(0, first) == call && std::to_string(count) == wanted.substr(first + 1, second - first - 1)) {
    const auto code = static_cast<CUresult>(std::stoi(wanted.substr(second + 1)));
    if (code == CUDA_ERROR_OUT_OF_MEMORY) return code;  // the one that is over with the call
    sticky_ = code;
  }
  return sticky_;
}

CUresult Machine::enter_outside_of_capture(const char* call) {
  if (captures && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
    is_capture_spoilt = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return enter(call);
}

CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode) noexcept {
  return std::exchange(capture_mode, mode);
}

bool Machine::is_lost() {
  const std::lock_guard guard(mutex_);
  return sticky_ != CUDA_SUCCESS;
}

HostFunctionScope::HostFunctionScope() noexcept { is_in_host_function = true; }

HostFunctionScope::~HostFunctionScope() { is_in_host_function = false; }

Context& Machine::needed(const char* call) {
  if (!current()) violation("%s on a thread without a context", call);
  return *current();
}

Machine& machine() {
  static Machine& instance = *new Machine;
  return instance;
}

}  // namespace stand_in
