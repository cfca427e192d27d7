// What becomes of errors, for the threaded and the serial engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/failure.h"
#include "engine_testing.h"
#include "headrace/error.hpp"

namespace headrace {
namespace {

using std::chrono::milliseconds;
using test::config_with;
using test::message_of;

class EngineErrors : public test::EngineModes {};

INSTANTIATE_TEST_SUITE_P(All, EngineErrors, test::engine_modes(), test::name_of);

TEST_P(EngineErrors, ErrorKeepsTypeTextAndKind) {
  Var x;
  push({}, {&x}, [] { throw Error(ErrorKind::kIndex, "take: index 9 is out of range"); });
  try {
    engine.wait_to_read(x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIndex);
    EXPECT_STREQ(error.what(), "take: index 9 is out of range");
  }
  push({}, {&x}, [] { throw 42; });
  EXPECT_THROW(engine.wait_to_read(x), int);
  push({}, {&x}, [] { throw std::bad_alloc(); });
  EXPECT_THROW(engine.wait_to_write(x), std::bad_alloc);
}

// Of the threaded engine test_exit.py sees it, with threads that a fork leaves behind.
TEST(SerialEngineErrors, AForkedChildLeavesThemToItsParent) {
  Engine engine(config_with(0, true));
  const auto fail_in_a_task = [&] {
    Var x;
    std::array<Var*, 1> writes{&x};
    engine.push({.name = "boom", .writes = writes}, [] { throw std::runtime_error("boom"); });
  };
  for (const bool in_child : {false, true}) {
    fail_in_a_task();
    engine.lock_for_fork();
    engine.after_fork(in_child);
    testing::internal::CaptureStderr();
    EXPECT_NE(engine.report_unread_errors(), in_child);
    testing::internal::GetCapturedStderr();
  }
}

TEST_P(EngineErrors, ErrorIsRaisedEveryTimeUntilOverwritten) {
  Var x;
  push({}, {&x}, [] { throw std::runtime_error("boom"); });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(message_of([&] { engine.wait_to_read(x); }), "boom");
  EXPECT_TRUE(x.poisoned());
  EXPECT_NE(x.error(), nullptr);
  push({}, {&x}, [] {});
  engine.wait_to_read(x);
  EXPECT_FALSE(x.poisoned());
  EXPECT_EQ(x.error(), nullptr);
}

TEST_P(EngineErrors, ErrorTravelsAlongReads) {
  Var a, b, c, d;
  bool ran = false;
  push({}, {&a}, [] { throw std::runtime_error("first"); });
  push({&a}, {&b}, [&] { ran = true; });
  push({&b}, {&c, &d}, [&] { ran = true; });
  for (Var* var : {&a, &b, &c, &d}) EXPECT_EQ(message_of([&] { engine.wait_to_read(*var); }), "first");
  EXPECT_FALSE(ran);
}

TEST_P(EngineErrors, InPlaceUpdateKeepsTheError) {
  Var x;
  push({}, {&x}, [] { throw std::runtime_error("boom"); });
  push({&x}, {&x}, [] {});
  EXPECT_EQ(message_of([&] { engine.wait_to_read(x); }), "boom");
}

TEST_P(EngineErrors, ReadersDoNotCatchTheErrorsOfReaders) {
  Var x, y;
  push({}, {&x}, [] {});
  push({&x}, {&y}, [] { throw std::runtime_error("boom"); });
  engine.wait_to_read(x);
  EXPECT_EQ(message_of([&] { engine.wait_to_read(y); }), "boom");
  push({}, {&y}, [] {});
  engine.wait_to_read(y);
}

TEST_P(EngineErrors, WaitAllRaisesEachErrorOnceOldestFirst) {
  Var w, x, y, z;
  push({}, {&w}, [] { throw std::runtime_error("zero"); });
  EXPECT_EQ(message_of([&] { engine.wait_to_write(w); }), "zero");  // raised: not again by wait_all
  push({}, {&x}, [] { throw std::runtime_error("one"); });
  push({&x}, {&y}, [] { throw std::runtime_error("never runs"); });
  engine.wait_to_write_for(z, milliseconds(1));
  push({&z}, {&z}, [] { throw std::runtime_error("two"); });
  std::vector<std::string> raised;
  for (std::string text; !(text = message_of([&] { engine.wait_all(); })).empty();) raised.push_back(text);
  std::ranges::sort(raised);  // the two failed independently of each other
  EXPECT_EQ(raised, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(message_of([&] { engine.wait_to_read(z); }), "two");  // still poisoned
  push({}, {&z}, [] { throw std::runtime_error("three"); });
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "three");
}

// A loop that fails in the same way at each step has one error to tell.
TEST_P(EngineErrors, WaitAllRaisesWhatSaysTheSameOnce) {
  Var x, y;
  const auto fail = [&](Var& var, const char* text) { push({}, {&var}, [text] { throw std::runtime_error(text); }); };
  for (int step = 0; step < 3; ++step) fail(x, "same");
  fail(y, "other");
  EXPECT_EQ(message_of([&] { engine.wait_to_read(y); }), "other");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "same");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "");
  EXPECT_EQ(message_of([&] { engine.wait_to_read(x); }), "same");  // still poisoned
  fail(x, "same");
  engine.drain();
  fail(y, "same");  // after x
  EXPECT_EQ(message_of([&] { engine.wait_to_read(y); }), "same");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "");
  fail(x, "same");  // after it was told
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "same");
}

// Nobody waits for x before it is overwritten, or even destroyed.
TEST_P(EngineErrors, ErrorNobodyWaitsForIsNotLost) {
  {
    Var x;
    push({}, {&x}, [] { throw std::runtime_error("lost?"); });
    push({}, {&x}, [] {});
    engine.wait_to_write(x);
  }
  push({}, {}, [] { throw std::runtime_error("writes nothing"); });
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "lost?");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "writes nothing");
  engine.wait_all();
}

// An update that cannot happen leaves the value, and the error of an earlier write of it.
TEST_P(EngineErrors, WhatKeepsShowsNoErrorButTells) {
  Var gradient, weight, broken;
  const auto push_update = [&](Var* written, auto body) {
    Var* const reads[] = {&gradient, written};
    engine.push({.name = "update", .reads = reads, .writes = {&written, 1}, .keeps = true}, std::move(body));
  };
  int updates = 0;
  push({}, {&weight}, [] {});
  push({}, {&broken}, [] { throw std::runtime_error("broken before"); });
  push({}, {&gradient}, [] { throw std::runtime_error("no gradient"); });
  push_update(&weight, [&] { ++updates; });
  push_update(&broken, [&] { ++updates; });
  engine.wait_to_read(weight);
  EXPECT_EQ(message_of([&] { engine.wait_to_read(broken); }), "broken before");
  engine.drain();
  EXPECT_EQ(message_of([&] { engine.raise_kept(); }), "no gradient");
  engine.raise_kept();  // once
  push({}, {&gradient}, [] {});
  push_update(&weight, [&] { ++updates; });
  push_update(&weight, [] { throw std::runtime_error("no room"); });
  push_update(&weight, [&] { ++updates; });
  engine.wait_to_read(weight);
  engine.drain();
  EXPECT_EQ(updates, 2);
  EXPECT_EQ(message_of([&] { engine.raise_kept(); }), "no room");
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "");  // all raised
}

TEST_P(EngineErrors, SkippedBodyIsDestroyed) {
  auto token = std::make_shared<int>(1);
  Var x, y;
  push({}, {&x}, [] { throw std::runtime_error("boom"); });
  push({&x}, {&y}, [token] {});
  EXPECT_THROW(engine.wait_to_read(y), std::runtime_error);
  engine.wait_all();  // the wait for y has raised it
  EXPECT_EQ(token.use_count(), 1);
}

TEST(FailureLog, DropsTheNewestBeyondItsLimit) {
  Engine engine(config_with(1));
  for (int i = 0; i < 1500; ++i) engine.push({.name = "task"}, [i] { throw std::runtime_error(std::to_string(i)); });
  int count = 0;
  for (std::string text; !(text = message_of([&] { engine.wait_all(); })).empty(); ++count)
    EXPECT_EQ(text, std::to_string(count));
  EXPECT_EQ(count, 1024);
}

TEST(FailureLog, WhatWasRaisedTakesNoRoom) {
  Engine engine(config_with(1));
  for (int i = 0; i < 1500; ++i) {
    Var x;
    Var* const writes[] = {&x};
    engine.push({.name = "task", .writes = writes}, [i] { throw std::runtime_error(std::to_string(i)); });
    EXPECT_EQ(message_of([&] { engine.wait_to_read(x); }), std::to_string(i));
  }
  engine.push({.name = "task"}, [] { throw std::runtime_error("unread"); });
  EXPECT_EQ(message_of([&] { engine.wait_all(); }), "unread");
}

}  // namespace
}  // namespace headrace
