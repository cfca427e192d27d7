// Files that tests write.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace headrace {

// A path that no other process has: several run the same tests at a time.
inline std::string own_path(std::string_view name) {
  return (std::filesystem::path(testing::TempDir()) / fmt::format("headrace-{}-{}", getpid(), name)).string();
}

}  // namespace headrace
