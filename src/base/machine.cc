#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace headrace {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Where a control group says what it may use and does, in the two versions of control groups.
struct GroupFiles {
  const char *limit, *used, *details;
  const char *active_files, *inactive_files;  // lines of the details
};

constexpr GroupFiles kGroups[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "active_file",
     "inactive_file"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_active_file", "total_inactive_file"},
};

std::optional<int64_t> number_in(const char* file) {
  int64_t number = 0;
  if (std::ifstream(file) >> number) return number;
  return std::nullopt;
}

// The number after a word that begins a line.
std::optional<int64_t> number_after(std::string_view word, const char* file) {
  std::ifstream lines(file);
  std::string first, rest;
  for (int64_t number = 0; lines >> first >> number; std::getline(lines, rest)) {
    if (first == word) return number;
  }
  return std::nullopt;
}

std::optional<int64_t> of_machine(std::string_view word) {
  const auto kibibytes = number_after(word, "/proc/meminfo");
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

// What is left of a control group's limit. Copies of files count as used, but make room when there is need.
int64_t left_in(const GroupFiles& group) {
  const auto limit = number_in(group.limit), used = number_in(group.used);
  if (!limit || !used || *limit <= 0) return kMost;
  const int64_t copies = number_after(group.active_files, group.details).value_or(0) +
                         number_after(group.inactive_files, group.details).value_or(0);
  return std::max<int64_t>(0, *limit - *used + std::min(copies, *used));
}

}  // namespace

// Asked once: the answer costs a system call, and idle threads use it all the time.
int core_count() noexcept {
  static const int count = [] {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}

size_t page_bytes() noexcept {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  return bytes;
}

int64_t physical_memory() noexcept {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(page_bytes());
  for (const GroupFiles& group : kGroups) {
    const auto limit = number_in(group.limit);
    if (limit && *limit > 0) bytes = std::min(bytes, *limit);
  }
  return bytes;
}

int64_t available_memory() noexcept {
  int64_t bytes = of_machine("MemAvailable:").value_or(kMost);
  for (const GroupFiles& group : kGroups) bytes = std::min(bytes, left_in(group));
  return bytes;
}

int64_t free_swap() noexcept { return of_machine("SwapFree:").value_or(0); }

}  // namespace headrace
