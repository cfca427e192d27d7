#include "ops/normalization/device_meeting.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "headrace/error.hpp"

namespace headrace {
namespace {

using Seat = DeviceMeeting::Seat;
using namespace std::chrono_literals;

std::string error_of(const Seat& seat, std::chrono::nanoseconds patience) {
  try {
    seat.meeting->await(patience);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceMeeting, CallsOfOneNameMeetInTheirOrder) {
  const Seat a = DeviceMeeting::join("order", 2, 1), b = DeviceMeeting::join("order", 2, 1);
  const Seat c = DeviceMeeting::join("other", 2, 2), d = DeviceMeeting::join("order", 2, 2);
  const Seat e = DeviceMeeting::join("order", 2, 2), f = DeviceMeeting::join("order", 2, 2);
  EXPECT_EQ(a.meeting, d.meeting);
  EXPECT_EQ(b.meeting, e.meeting);
  EXPECT_NE(a.meeting, b.meeting);
  EXPECT_NE(c.meeting, a.meeting);
  EXPECT_NE(f.meeting, e.meeting);
  EXPECT_EQ(a.number, 0);
  EXPECT_EQ(d.number, 1);
}

TEST(DeviceMeeting, AllGetTheSharesByTheirSeats) {
  constexpr int kCalls = 5;
  std::vector<Seat> seats;
  for (int i = 0; i < kCalls; ++i) seats.push_back(DeviceMeeting::join("shares", kCalls, static_cast<uintptr_t>(i)));
  std::vector<std::thread> threads;
  std::vector<std::vector<DeviceMeeting::Share>> found(kCalls);
  for (int i = kCalls - 1; i >= 0; --i)
    threads.emplace_back([&, i] {
      const Seat& seat = seats[static_cast<size_t>(i)];
      seat.meeting->bring(seat.number, {static_cast<double>(i), {1.0 * i}, {2.0 * i}});
      found[static_cast<size_t>(i)] = seat.meeting->await();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& shares : found) {
    ASSERT_EQ(shares.size(), size_t{kCalls});
    for (int i = 0; i < kCalls; ++i) EXPECT_EQ(shares[static_cast<size_t>(i)].second[0], 2.0 * i);
  }
}

TEST(DeviceMeeting, WhatFailsFailsForAll) {
  const Seat a = DeviceMeeting::join("failure", 3, 1), b = DeviceMeeting::join("failure", 3, 2);
  a.meeting->bring(a.number, {1, {1}, {1}});
  std::thread waits([&] { EXPECT_EQ(error_of(a, 60s), "failure: call 2 of 3 failed: it is broken"); });
  b.meeting->fail(b.number, "it is broken");
  waits.join();
  const Seat c = DeviceMeeting::join("failure", 3, 3);
  EXPECT_NE(c.meeting, a.meeting);  // which is over
}

TEST(DeviceMeeting, NobodyWaitsForEverForCallsThatAreNotStated) {
  const Seat a = DeviceMeeting::join("patience", 2, 1);
  a.meeting->bring(a.number, {1, {1}, {1}});
  EXPECT_NE(error_of(a, 1ms).find("patience: 1 of 2 devices have called the layer"), std::string::npos);
  const Seat b = DeviceMeeting::join("patience", 2, 2), c = DeviceMeeting::join("patience", 2, 1);
  EXPECT_EQ(b.meeting, c.meeting);
  // One that is stated may take as long as it likes.
  b.meeting->bring(b.number, {1, {1}, {1}});
  std::thread late([&] {
    std::this_thread::sleep_for(20ms);
    c.meeting->bring(c.number, {1, {1}, {1}});
  });
  EXPECT_EQ(b.meeting->await(1ms).size(), 2u);
  late.join();
}

TEST(DeviceMeeting, OneNameIsForOneNumberOfCalls) {
  const Seat a = DeviceMeeting::join("number", 2, 1);
  EXPECT_THROW(DeviceMeeting::join("number", 3, 2), Error);
  EXPECT_EQ(DeviceMeeting::join("number", 2, 2).meeting, a.meeting);
}

}  // namespace
}  // namespace headrace
