// The machine that stands in for NVIDIA's driver: devices with memory, streams and events, on threads of the host. It
// runs late, and ends the process with a sentence where a call breaks the driver's contract.
#pragma once

#include <cuda.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace stand_in {

// Says what is wrong and ends the process.
[[noreturn]] void violation(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Memory of one device. Addresses that the driver hands out cannot be touched; what lies there is elsewhere, and only
// streams know where.
class Memory {
 public:
  explicit Memory(size_t bytes);

  CUdeviceptr allocate(size_t bytes);  // 0: there is none left
  void release(CUdeviceptr block);
  // Where the bytes at an address lie; null: the address is none of this memory. Ends the process for a range that is
  // not within one block.
  char* find(CUdeviceptr address, size_t bytes);
  bool contains(CUdeviceptr address) const noexcept;
  // A piece of work is queued that uses the block at the address; it has run.
  void begin_use(CUdeviceptr address);
  void end_use(CUdeviceptr address);
  size_t total() const noexcept { return bytes_; }
  size_t free() const;

 private:
  struct Block {
    size_t bytes = 0;
    int uses = 0;
  };
  std::map<CUdeviceptr, Block>::iterator block_of(CUdeviceptr address);

  const size_t bytes_;
  char* closed_;  // what addresses mean
  char* open_;    // what lies there
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Block> blocks_;  // guarded by mutex_
};

class Stream;

struct Context {
  int device;
  Memory memory;
  std::mutex mutex;
  std::vector<Stream*> streams;  // guarded by mutex; they live as long as the process
};

// A point in a stream, recorded any number of times.
struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;  // guarded by mutex, as what follows
  const bool takes_time;
  std::chrono::steady_clock::time_point time{};  // when it was reached last
};

// A piece of work. `uses` are addresses of device memory in blocks that it uses.
struct Item {
  std::vector<CUdeviceptr> uses;
  std::function<void()> work;
};

// What was captured; it may run any number of times.
using Graph = std::vector<Item>;

class Stream {
 public:
  explicit Stream(Context& context);

  Context& context() const noexcept { return context_; }
  // Runs `work` behind everything before it, or notes it where the stream captures.
  void put(std::vector<CUdeviceptr> uses, std::function<void()> work);
  bool is_idle();

  // From now on what is put here is noted, by the calling thread.
  void begin_capture(CUstreamCaptureMode mode);
  bool is_capturing() const noexcept { return capture_ != nullptr; }
  // What was noted; null where the thread has called meanwhile what it must not.
  std::unique_ptr<Graph> end_capture();

 private:
  void run();

  Context& context_;
  std::unique_ptr<Graph> capture_;  // the capturing thread's
  std::mutex mutex_;
  std::condition_variable has_items_;
  std::deque<Item> items_;  // guarded by mutex_
  bool is_busy_ = false;    // guarded by mutex_
  std::thread thread_;
};

class Machine {
 public:
  Machine();

  int device_count() const noexcept { return static_cast<int>(contexts_.size()); }
  // Ten times the version: 90, or what HEADRACE_STAND_IN_CAPABILITY says.
  int compute_capability() const noexcept { return compute_capability_; }
  Context& context(int device) { return *contexts_[static_cast<size_t>(device)]; }
  // That of the calling thread; null: none.
  Context* current() const noexcept;
  void push(Context* context);
  Context* pop();
  // In whose memory an address lies; null: in none.
  Context* owner(CUdeviceptr address);

  // Every call begins here. What it has to answer: CUDA_SUCCESS, or what HEADRACE_STAND_IN_FAIL asks for, from then on.
  CUresult enter(const char* call);
  // An error that stays was answered.
  bool is_lost();
  // As enter(), for a call that a thread must not make while it captures, which ends its capture without a graph.
  CUresult enter_outside_of_capture(const char* call);
  // Of a call that needs one: ends the process where the thread has no context.
  Context& needed(const char* call);

 private:
  std::vector<std::unique_ptr<Context>> contexts_;
  const int compute_capability_;
  const int process_;
  std::mutex mutex_;
  std::map<std::string, int> calls_;  // guarded by mutex_
  CUresult sticky_ = CUDA_SUCCESS;    // guarded by mutex_
};

// What the thread may call while it captures; gives what it was.
CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode) noexcept;

// While it lives, the thread runs code that cuLaunchHostFunc took, which must not call the driver.
class HostFunctionScope {
 public:
  HostFunctionScope() noexcept;
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

// Lives as long as the process.
Machine& machine();

}  // namespace stand_in
