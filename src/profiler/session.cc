#include "profiler/session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/config.h"
#include "base/log.h"
#include "device/memory_counters.h"
#include "device/registry.h"
#include "engine/runtime.h"
#include "headrace/profiler.hpp"
#include "profiler/chrome_trace.h"
#include "profiler/devices.h"
#include "profiler/statistics.h"
#include "timeline/timeline.h"

namespace headrace::profiler {
namespace {

// What goes wrong where nobody can be told is logged.
void save_or_log(const std::string& path) noexcept {
  try {
    save_chrome_trace(path);
  } catch (const std::exception& error) {
    log(LogLevel::kError, "{}", error.what());
  }
}

// Writes a file again and again until it is destroyed, and then once more.
class PeriodicDump {
 public:
  PeriodicDump(std::string path, double seconds)
      : path_(std::move(path)), thread_([this, seconds](std::stop_token stop) { run(stop, seconds); }) {}

  // In a forked child the thread is not there.
  bool is_of_this_process() const noexcept { return process_ == getpid(); }

 private:
  void run(const std::stop_token& stop, double seconds) {
    constexpr double kLongest = 1e9;  // thirty years; clocks count no more than ten times as many
    std::unique_lock lock(mutex_);
    for (bool is_last = false; !is_last;) {
      stopped_.wait_for(lock, stop, std::chrono::duration<double>(std::min(seconds, kLongest)), [] { return false; });
      is_last = stop.stop_requested();  // what was recorded while a file was being written goes into the next one
      save_or_log(path_);
    }
  }

  const pid_t process_ = getpid();
  const std::string path_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;
};

struct Session {
  std::mutex mutex;
  Config config;                       // guarded by mutex
  std::unique_ptr<PeriodicDump> dump;  // guarded by mutex
  std::atomic<bool> has_run = false;

  // With the mutex held.
  void end_dump() {
    if (dump && !dump->is_of_this_process()) static_cast<void>(dump.release());
    dump.reset();
  }
};

Session& session() { return service<Session>(); }

timeline::Sources sources_of(const Config& config) {
  if (config.all) return timeline::kAllSources;
  const auto chosen = [](bool is_chosen, timeline::Source source) {
    return is_chosen ? static_cast<timeline::Sources>(source) : 0;
  };
  return chosen(true, timeline::Source::kAnnotations) | chosen(config.imperative, timeline::Source::kOperators) |
         chosen(config.symbolic, timeline::Source::kGraphSteps) | chosen(config.memory, timeline::Source::kMemory) |
         chosen(config.api, timeline::Source::kCalls);
}

// Curves begin and end with the recording, not with the first allocation in it.
void sample_memory() {
  if (!timeline::enabled(timeline::Source::kMemory)) return;
  for (const Device device : devices_with_memory()) MemoryCounters(device).sample(allocator_of(device).stats());
}

// Waits for the engine and then does `rest`, also when an operation has failed; its error goes on.
template <class Rest>
void drain_and(Rest rest) {
  try {
    runtime().engine.wait_all();
  } catch (...) {
    rest();
    throw;
  }
  rest();
}

// Leaves what is there alone; makes an empty file where there is none.
bool can_be_written(const std::string& path) { return std::ofstream(path, std::ios::app).good(); }

// Settings that nothing can run with are told by what needs them first.
template <class Body>
void unless_unusable(Body body) {
  try {
    body();
  } catch (const Error&) {
  }
}

void save_at_exit() {
  unless_unusable([] { runtime().shutdown(); });
  save_or_log(headrace::config().trace_path);
}

}  // namespace

void set_config(Config config) {
  check(config.dump_period > 0, ErrorKind::kValue,
        "profiler.set_config: dump_period must be a positive number of seconds, got {}.", config.dump_period);
  std::lock_guard guard(session().mutex);
  session().config = std::move(config);
}

Config get_config() {
  std::lock_guard guard(session().mutex);
  return session().config;
}

void start() {
  runtime();  // installs what keeps a forked child from finding the recorder locked
  std::lock_guard guard(session().mutex);
  const Config& config = session().config;
  session().end_dump();
  session().has_run = true;
  timeline::restart(sources_of(config));
  sample_memory();
  if (config.continuous_dump) session().dump = std::make_unique<PeriodicDump>(config.filename, config.dump_period);
}

void stop() {
  drain_and([] {
    sample_memory();
    timeline::stop();
    std::lock_guard guard(session().mutex);
    session().end_dump();
  });
}

void pause() {
  drain_and([] {
    sample_memory();
    timeline::stop();
  });
}

void resume() {
  session().has_run = true;
  timeline::resume();
  sample_memory();
}

bool is_recording() noexcept { return timeline::enabled(); }

void dump(bool finished) {
  check(session().has_run, ErrorKind::kRuntime,
        "profiler.dump: nothing was recorded: the profiler has not been run. Call profiler.start(), or "
        "profiler.set_state('run'), before the work to look at.");
  if (finished) {
    stop();
  } else {
    drain_and([] {});
  }
  save_chrome_trace(get_config().filename);
}

std::string dumps(const DumpsOptions& options) {
  std::string text;
  drain_and([&] {
    const auto sections = statistics(timeline::collect(timeline::Extent::kSection), options.sort_by, options.ascending);
    text = options.format == Format::kJson ? statistics_json(sections) : statistics_table(sections);
    if (options.reset) timeline::begin_section();
  });
  return text;
}

void start_if_configured() {
  const std::string& path = headrace::config().trace_path;
  if (path.empty() || timeline::enabled()) return;
  if (!can_be_written(path))
    log(LogLevel::kWarn,
        "HEADRACE_TIMELINE: '{}' cannot be written, so the timeline will be lost. Name a file in a folder that exists.",
        path);
  session().has_run = true;
  timeline::start();
  unless_unusable(sample_memory);
  std::atexit(save_at_exit);
}

}  // namespace headrace::profiler
