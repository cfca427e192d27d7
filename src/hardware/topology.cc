#include "hardware/topology.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/machine.h"

namespace headrace::hardware {
namespace {

namespace fs = std::filesystem;

template <class T>
T read_or(const fs::path& path, T otherwise) {
  T value{};
  return std::ifstream(path) >> value ? value : otherwise;
}

int memory_node_of(const fs::path& processor) {
  constexpr std::string_view kPrefix = "node";
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(processor, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos &&
        name.size() > kPrefix.size())
      return std::stoi(name.substr(kPrefix.size()));
  }
  return 0;
}

template <class Condition>
std::optional<Processor> first_partner(std::span<const Processor> processors, Condition fits) {
  for (const Processor& other : processors.subspan(processors.empty() ? 0 : 1))
    if (fits(processors.front(), other)) return other;
  return std::nullopt;
}

// "32K", "1M" or a number of bytes.
size_t parse_size(const std::string& text) {
  if (text.empty() || text.find_first_of("0123456789") != 0) return 0;
  const size_t number = std::stoull(text);
  return text.back() == 'K' ? number << 10 : text.back() == 'M' ? number << 20 : number;
}

void stay_on(int processor) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // where this is forbidden, the system chooses
}

}  // namespace

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> numbers;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) numbers.push_back(i);
  }
  for (int i = 0; numbers.empty() && i < core_count(); ++i) numbers.push_back(i);
  return numbers;
}

std::vector<Processor> read_processors(std::span<const int> numbers, const std::string& folder) {
  std::vector<Processor> processors;
  for (int number : numbers) {
    const fs::path processor = fs::path(folder) / fmt::format("cpu{}", number);
    processors.push_back({number, read_or(processor / "topology/core_id", number),
                          read_or(processor / "topology/physical_package_id", 0), memory_node_of(processor)});
  }
  return processors;
}

std::optional<Processor> in_other_core(std::span<const Processor> processors) {
  return first_partner(processors, [](const Processor& first, const Processor& other) {
    return other.package == first.package && other.core != first.core;
  });
}

std::optional<Processor> in_other_package(std::span<const Processor> processors) {
  return first_partner(processors, [](const auto& first, const auto& other) { return other.package != first.package; });
}

std::optional<Processor> at_other_memory(std::span<const Processor> processors) {
  return first_partner(processors,
                       [](const auto& first, const auto& other) { return other.memory_node != first.memory_node; });
}

size_t told_cache_bytes(int processor, int level, const std::string& folder) {
  const fs::path caches = fs::path(folder) / fmt::format("cpu{}/cache", processor);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(caches, ignored)) {
    if (read_or(entry.path() / "level", 0) == level && read_or(entry.path() / "type", std::string()) != "Instruction")
      return parse_size(read_or(entry.path() / "size", std::string()));
  }
  return 0;
}

void run_on(std::span<const int> processors, FunctionRef<void(size_t index)> body) {
  std::mutex mutex;
  std::exception_ptr failure;        // guarded by mutex: the first
  std::atomic<bool> complete{true};  // all threads could be started
  std::barrier start(static_cast<ptrdiff_t>(processors.size()));
  std::vector<std::jthread> threads;
  const auto work = [&](size_t index) {
    stay_on(processors[index]);
    start.arrive_and_wait();
    if (!complete) return;
    try {
      body(index);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  try {
    for (size_t i = 0; i < processors.size(); ++i) threads.emplace_back(work, i);
  } catch (...) {
    complete = false;
    for (size_t i = threads.size(); i < processors.size(); ++i) start.arrive_and_drop();
    throw;
  }
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace headrace::hardware
