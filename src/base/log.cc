#include "base/log.h"

#include <cstdio>

namespace headrace {
namespace {

LogLevel least_severe() noexcept {
  static const LogLevel level = [] {
    try {
      return config().log_level;
    } catch (...) {  // whoever asks for the configuration to use it reports what is wrong with it
      return LogLevel::kWarn;
    }
  }();
  return level;
}

}  // namespace

bool log_enabled(LogLevel level) noexcept { return level <= least_severe(); }

void write_log(LogLevel level, std::string_view message) noexcept {
  std::fprintf(stderr, "headrace %s: %.*s\n", kLogLevelNames[static_cast<size_t>(level)],
               static_cast<int>(message.size()), message.data());
}

}  // namespace headrace
