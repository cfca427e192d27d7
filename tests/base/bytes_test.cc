#include "base/bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "headrace/error.hpp"

namespace headrace {
namespace {

std::string parse_refusal(std::string_view text) {
  try {
    return "read as " + std::to_string(parse_bytes(text, "here"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kValue);
    return error.what();
  }
}

TEST(ParseBytes, NumbersAndUnits) {
  EXPECT_EQ(parse_bytes("12", ""), 12);
  EXPECT_EQ(parse_bytes(" 160 mb ", ""), 160'000'000);
  EXPECT_EQ(parse_bytes("64MiB", ""), 64 << 20);
  EXPECT_EQ(parse_bytes("2gib", ""), int64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1.5KB", ""), 1500);
  EXPECT_EQ(parse_bytes("1.1MB", ""), 1'100'000);
  EXPECT_EQ(parse_bytes("0.75 KiB", ""), 768);
  EXPECT_EQ(parse_bytes("1.000000000001TB", ""), 1'000'000'000'001);
  EXPECT_EQ(parse_bytes("0.0B", ""), 0);
  EXPECT_EQ(parse_bytes("1000TB", ""), kMostBytes);
}

TEST(ParseBytes, WhatIsNoNumberOfBytes) {
  for (const char* text : {"", "MB", "1.MB", ".5MB", "-1", "1e6", "160 Mbit", "nan", "1 2", "1,5MB", "1EB", "1KiBs"})
    EXPECT_EQ(
        parse_refusal(text).find("here: '" + std::string(text) + "' is no number of bytes; write a number and B, KB"),
        0u)
        << parse_refusal(text);
  for (const char* text : {"1.5B", "0.1KiB", "1.0001KB"})
    EXPECT_EQ(parse_refusal(text), "here: '" + std::string(text) + "' is no whole number of bytes");
  for (const char* text : {"2000TB", "1000.000000000001TB", "10000000000000000", "99999999999999999999999"})
    EXPECT_EQ(parse_refusal(text),
              "here: the number of bytes must be from 0 to 1000000000000000, got " + std::string(text));
}

}  // namespace
}  // namespace headrace
