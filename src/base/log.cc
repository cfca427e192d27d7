#include "base/log.h"

#include <cstdio>

#include "base/config.h"

namespace headrace {
namespace {

constexpr const char* kLevelNames[] = {"error", "warn", "info", "debug"};

LogLevel least_severe() noexcept {
  static const LogLevel level = [] {
    try {
      for (int i = 0; i < 4; ++i)
        if (config().log_level == kLevelNames[i]) return static_cast<LogLevel>(i);
    } catch (...) {  // whoever asks for the configuration to use it reports what is wrong with it
    }
    return LogLevel::kWarn;
  }();
  return level;
}

}  // namespace

bool log_enabled(LogLevel level) noexcept { return level <= least_severe(); }

void write_log(LogLevel level, std::string_view message) noexcept {
  std::fprintf(stderr, "headrace %s: %.*s\n", kLevelNames[static_cast<int>(level)], static_cast<int>(message.size()),
               message.data());
}

}  // namespace headrace
