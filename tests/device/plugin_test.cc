#include "device/plugin.h"

#include <gtest/gtest.h>

#include <string>

#include "headrace/error.hpp"

namespace headrace {
namespace {

std::string error_of(const char* path) {
  try {
    load_backends(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kOs);
    return error.what();
  }
  return "nothing was raised";
}

TEST(Plugin, WhatCannotBeLoadedIsNamed) {
  EXPECT_NE(error_of("/nowhere/libgpus.so").find("'/nowhere/libgpus.so' cannot be loaded"), std::string::npos);
  EXPECT_NE(error_of("libm.so.6").find("is no library of backends"), std::string::npos);
}

}  // namespace
}  // namespace headrace
