// Tasks on the streams of simulated GPUs: order within and between streams, what the host waits for, and errors.
#include "engine/device_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "device/registry.h"
#include "headrace/error.hpp"
#include "headrace/sim.hpp"

namespace headrace {
namespace {

// A body that does not go on before the test says so.
class Gate {
 public:
  void open() { is_open_.store(true); }
  void pass() const {
    while (!is_open_.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  std::atomic<bool> is_open_{false};
};

class DeviceQueueTest : public ::testing::Test {
 protected:
  DeviceQueueTest() { sim::configure({.gpus = 3, .clock = sim::Clock::kVirtual}); }
  ~DeviceQueueTest() override { sim::repair(); }

  static Stream* stream(int gpu, StreamRole role = StreamRole::kCompute) {
    return &accelerator_of({DeviceType::kGpu, gpu})->stream(role);
  }
  // The body is device code where there is a stream.
  template <class Body>
  void push(Stream* on, std::vector<Var*> reads, std::vector<Var*> writes, Body body) {
    engine_.push(TaskSpec{.name = "test", .reads = reads, .writes = writes, .cost_ns = 1e5, .stream = on},
                 [body] { run_on_device({}, body); });
  }

  Config config_;
  // Before the engine: a device may note the end of its work only after what another one did behind it was waited for,
  // and the engine ends when all of them have.
  Var x_, y_;
  int value_ = 0;
  Engine engine_{config_};
};

TEST_F(DeviceQueueTest, WorkRunsOnItsStream) {
  Stream* seen = nullptr;
  push(stream(1), {}, {&x_}, [&] { seen = current_stream(); });
  engine_.wait_to_read(x_);
  EXPECT_EQ(seen, stream(1));
  EXPECT_EQ(current_stream(), nullptr);
}

TEST_F(DeviceQueueTest, PushingDoesNotWait) {
  Gate gate;
  for (int i = 0; i < 100; ++i) push(stream(0), {}, {&x_}, [&] { gate.pass(); });
  EXPECT_GE(engine_.pending(), 100);
  EXPECT_FALSE(engine_.wait_to_read_for(x_, std::chrono::milliseconds(1)));
  gate.open();
  engine_.wait_to_read(x_);
}

// The second task is on its stream before the first one has run.
TEST_F(DeviceQueueTest, SuccessorsAreLaunchedBehindWhatRuns) {
  Gate gate;
  push(stream(0), {}, {&x_}, [&] { gate.pass(); });
  for (int i = 0; i < 5; ++i) push(stream(0), {&x_}, {&y_}, [&] { ++value_; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(x_.idle());  // of the chains nothing is left: all is on the stream
  EXPECT_EQ(value_, 0);
  gate.open();
  engine_.wait_to_read(y_);
  EXPECT_EQ(value_, 5);
}

TEST_F(DeviceQueueTest, StreamsWaitForEachOther) {
  Gate gate;
  int sum = 0;
  push(stream(0), {}, {&x_}, [&] {
    gate.pass();
    value_ = 3;
  });
  push(stream(1), {&x_}, {&y_}, [&] { sum = value_ * 2; });
  push(stream(2, StreamRole::kDeviceToHost), {&y_}, {&x_}, [&] { sum += 1; });
  gate.open();
  engine_.wait_to_read(x_);
  EXPECT_EQ(sum, 7);
}

TEST_F(DeviceQueueTest, HostTasksWaitForStreams) {
  Gate gate;
  push(stream(0), {}, {&x_}, [&] {
    gate.pass();
    value_ = 5;
  });
  int seen = 0;
  push(nullptr, {&x_}, {&y_}, [&] { seen = value_; });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(seen, 0);
  gate.open();
  engine_.wait_to_read(y_);
  EXPECT_EQ(seen, 5);
}

// A host write waits for streams that still read.
TEST_F(DeviceQueueTest, HostWritesWaitForReadingStreams) {
  Gate gate;
  value_ = 1;
  int seen = 0;
  push(stream(0), {&x_}, {&y_}, [&] {
    gate.pass();
    seen = value_;
  });
  push(nullptr, {}, {&x_}, [&] { value_ = 2; });
  engine_.push(TaskSpec{.name = "cheap", .reads = {}, .writes = {}}, [] {});
  gate.open();
  engine_.wait_to_read(x_);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(value_, 2);
}

// Readers do not wait for readers, wherever they run.
TEST_F(DeviceQueueTest, ReadersRunTogether) {
  Gate gate;
  Var z;
  push(stream(0), {&x_}, {&y_}, [&] { gate.pass(); });
  push(stream(1), {&x_}, {&z}, [&] { ++value_; });
  engine_.wait_to_read(z);
  EXPECT_EQ(value_, 1);
  gate.open();
  engine_.wait_all();
}

TEST_F(DeviceQueueTest, ErrorsReachWhatDependsOnThem) {
  Var z;
  bool ran = false;
  push(stream(0), {}, {&x_}, [] { throw Error(ErrorKind::kValue, "boom"); });
  push(stream(1), {&x_}, {&y_}, [&] { ran = true; });
  push(nullptr, {&y_}, {&z}, [&] { ran = true; });
  for (Var* var : {&x_, &y_, &z}) {
    try {
      engine_.wait_to_read(*var);
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kValue);
      EXPECT_STREQ(error.what(), "boom");
    }
  }
  EXPECT_FALSE(ran);
  // Once raised it is not raised again; a new value makes up for the error.
  engine_.wait_all();
  push(stream(2), {}, {&x_}, [] {});
  engine_.wait_to_read(x_);
}

TEST_F(DeviceQueueTest, WaitAllRaisesErrorsOfStreams) {
  push(stream(0), {}, {&x_}, [] { throw Error(ErrorKind::kIndex, "out of range"); });
  EXPECT_THROW(engine_.wait_all(), Error);
  engine_.wait_all();
}

TEST_F(DeviceQueueTest, ALostDeviceFailsWhatIsThereAndLeavesTheRest) {
  Gate gate;
  Var z;
  push(stream(0), {}, {&x_}, [&] { gate.pass(); });
  push(stream(0), {}, {&y_}, [&] { ++value_; });
  push(stream(1), {}, {&z}, [&] { value_ += 10; });
  engine_.wait_to_read(z);
  sim::lose({DeviceType::kGpu, 0});
  gate.open();
  EXPECT_THROW(engine_.wait_to_read(y_), Error);
  push(stream(0), {}, {&y_}, [&] { ++value_; });
  EXPECT_THROW(engine_.wait_to_read(y_), Error);
  EXPECT_EQ(value_, 10);
  push(stream(1), {}, {&z}, [&] { value_ += 10; });
  engine_.wait_to_read(z);
  EXPECT_EQ(value_, 20);
}

// What stalls one stream holds no other up.
TEST_F(DeviceQueueTest, AStalledStreamHoldsUpItsOwnWorkAlone) {
  sim::configure({.gpus = 3, .clock = sim::Clock::kReal});  // a virtual clock would not wait
  sim::stall({DeviceType::kGpu, 0}, 0.5);
  std::atomic<bool> other_ran{false}, ran_after_other{false};
  push(stream(0), {}, {&x_}, [&] { ran_after_other = other_ran.load(); });
  push(stream(1), {}, {&y_}, [&] { other_ran = true; });
  engine_.wait_to_read(y_);
  engine_.wait_to_read(x_);
  EXPECT_TRUE(ran_after_other);
}

TEST_F(DeviceQueueTest, HigherPrioritiesAreLaunchedFirst) {
  Gate gate;
  std::vector<int> order;
  std::vector<std::unique_ptr<Var>> vars;
  const auto add = [&](Priority priority, int number) {
    vars.push_back(std::make_unique<Var>());
    Var* const var = vars.back().get();
    engine_.push(
        TaskSpec{.name = "test", .writes = {&var, 1}, .cost_ns = 1e5, .priority = priority, .stream = stream(0)},
        [&order, number] { run_on_device({}, [&order, number] { order.push_back(number); }); });
  };
  // More than can be launched at once, so that the rest has to be chosen from.
  for (int i = 0; i < 40; ++i) push(stream(0), {}, {&x_}, [&] { gate.pass(); });
  for (int i = 0; i < 4; ++i) add(Priority::kLow, i);
  for (int i = 4; i < 8; ++i) add(Priority::kHigh, i);
  gate.open();
  engine_.wait_all();
  ASSERT_EQ(order.size(), 8u);
  EXPECT_EQ(order, (std::vector<int>{4, 5, 6, 7, 0, 1, 2, 3}));
}

TEST_F(DeviceQueueTest, TheSerialEngineRunsStreamsInTheCallingThreadsOrder) {
  Config config;
  config.serial_engine = true;
  Engine engine(config);
  Var* const var = &x_;
  Stream* seen = nullptr;
  engine.push(TaskSpec{.name = "test", .writes = {&var, 1}, .stream = stream(1)}, [&] { seen = current_stream(); });
  EXPECT_EQ(seen, stream(1));
  engine.push(TaskSpec{.name = "test", .writes = {&var, 1}, .stream = stream(1)},
              [] { throw Error(ErrorKind::kValue, "boom"); });
  EXPECT_THROW(engine.wait_to_read(x_), Error);
}

}  // namespace
}  // namespace headrace
