#include "distributed/history.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "distributed/job.h"
#include "distributed/messages.h"

namespace headrace::distributed::history {
namespace {

// Of this process, for good; below 0: none is kept, or it cannot be.
int open_file() {
  const char* const folder = std::getenv("HEADRACE_HISTORY");
  if (!folder || !*folder) return -1;
  const char* const restarts = std::getenv("HEADRACE_RESTARTS");
  const std::string path =
      fmt::format("{}/{}-{}-{}.history", folder, restarts ? restarts : "0", role_name(role_of_process()), getpid());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) fmt::print(stderr, "distributed: the history '{}' cannot be written: {}\n", path, std::strerror(errno));
  return file;
}

int file() {
  static const int opened = open_file();
  return opened;
}

// Of the processes that keep histories in one folder: others that come to the moment later go on.
bool is_first_to_stop() {
  const char* const folder = std::getenv("HEADRACE_HISTORY");
  if (!folder || !*folder) return true;
  const int mark = open(fmt::format("{}/stopped", folder).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (mark >= 0) close(mark);
  return mark >= 0;
}

}  // namespace

std::string id_of(const PushRequest& push, uint64_t incarnation) {
  if (file() < 0) return {};
  const Place& place = push.place();
  return fmt::format("{} {} {} {} {}", place.store(), kvstore::to_string(key_of(place.key())), place.rank(),
                     incarnation, push.round());
}

void write(const char* what, const std::string& id) noexcept {
  if (file() < 0) return;
  const std::string line = id.empty() ? fmt::format("{}\n", what) : fmt::format("{} {}\n", what, id);
  const ssize_t size = ::write(file(), line.data(), line.size());
  if (size != static_cast<ssize_t>(line.size())) fmt::print(stderr, "distributed: the history lacks '{}'\n", id);
}

void pass(const char* moment) noexcept {
  static const char* const stop_at = std::getenv("HEADRACE_STOP_AT");
  static std::atomic<int> left{stop_at ? std::atoi(stop_at + std::strcspn(stop_at, " ")) : 0};
  if (!stop_at || std::strncmp(stop_at, moment, std::strcspn(stop_at, " ")) != 0) return;
  if (--left == 0 && is_first_to_stop()) raise(SIGSTOP);
}

}  // namespace headrace::distributed::history
