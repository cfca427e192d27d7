// What tests of the engine share: engines of each kind, and what a call raises.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace headrace::test {

inline constexpr double kCheap = 0, kDear = 10'000;

inline Config config_with(int workers, bool serial = false) {
  Config config;
  config.workers = workers;
  config.serial_engine = serial;
  config.spin_us = 20;
  return config;
}

struct Mode {
  const char* name;
  bool serial;
  double cost_ns;
};

class EngineModes : public ::testing::TestWithParam<Mode> {
 protected:
  Engine engine{config_with(2, GetParam().serial)};

  template <class Body>
  void push(std::vector<Var*> reads, std::vector<Var*> writes, Body&& body, const char* name = "task") {
    engine.push({.name = name, .reads = reads, .writes = writes, .cost_ns = GetParam().cost_ns},
                std::forward<Body>(body));
  }
};

inline auto engine_modes() {
  return ::testing::Values(Mode{"Cheap", false, kCheap}, Mode{"Dear", false, kDear}, Mode{"Serial", true, kDear});
}

inline std::string name_of(const ::testing::TestParamInfo<Mode>& info) { return info.param.name; }

// The message of what the call raises; empty: nothing.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace headrace::test
