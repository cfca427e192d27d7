#include "backend/sim/virtual_machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "virtual_machines.h"

namespace headrace::sim {
namespace {

constexpr int64_t kMicrosecond = 1'000'000, kMillisecond = 1'000'000'000;  // ps

const StreamUse* stream_of(const VirtualReport& report, const std::string& device, const std::string& name) {
  for (const StreamUse& stream : report.streams)
    if (stream.device == device && stream.name == name) return &stream;
  return nullptr;
}

TEST(VirtualMachine, AnOperationTakesLaunchAndTheLongerOfArithmeticAndMemory) {
  MachineSpec spec = simple_machine(1);
  spec.rates[1] = {2e12, 1e11, 3e-6};
  const auto takes = [&](double flops, double bytes) {
    Program program(spec);
    program.push({.name = "dot", .device = gpu(0), .flops = flops, .bytes = bytes}, {}, {"y"});
    return program.wait_all();
  };
  EXPECT_EQ(takes(0, 0), 3 * kMicrosecond);
  EXPECT_EQ(takes(8e6, 1e5), 7 * kMicrosecond);
  EXPECT_EQ(takes(8e6, 1e6), 13 * kMicrosecond);
}

TEST(VirtualMachine, WhatIsNotDeclaredTakesNoTime) {
  TopologySpec spec{"bare", {{"gpu0"}, {"cpu0"}}, {}, {{"gpu0", "cpu0", 1e9}}};
  MachineSpec machine(std::make_shared<Topology>(spec));
  machine.push_seconds = 0;
  Program program(machine);
  program.push({.name = "dot", .device = gpu(0), .flops = 1e18, .bytes = 1e18}, {}, {"x"});
  EXPECT_EQ(program.wait_all(), 0);
  program.copy(gpu(0), kCpu, 1000, {"x"}, {"y"});
  EXPECT_EQ(program.wait_all(), kMicrosecond);
}

TEST(VirtualMachine, TheFrontendTakesTimeForEachPush) {
  MachineSpec spec = simple_machine(1);
  spec.push_seconds = 1e-6;
  Program program(spec);
  for (int i = 0; i < 3; ++i) program.compute(gpu(0), 100, {}, {"x"});
  EXPECT_EQ(program.vm.now_ps(), 3 * kMicrosecond);
  EXPECT_EQ(program.wait_all(), 3 * kMicrosecond + 100);  // the last one begins when it is pushed
  program.vm.advance(50);
  EXPECT_EQ(program.vm.now_ps(), 3 * kMicrosecond + 150);
  EXPECT_EQ(program.vm.report().pushing_ps, 3 * kMicrosecond + 50);
  EXPECT_EQ(program.vm.report().waiting_ps, 100);
}

TEST(VirtualMachine, TwoDevicesTakeAsLongAsTheBusierOne) {
  Program program(simple_machine(2));
  for (int i = 0; i < 10; ++i) {
    program.compute(gpu(0), 700, {}, {"x"});
    program.compute(gpu(1), 1000, {}, {"y"});
    program.compute(kCpu, 300, {}, {"z"});
  }
  EXPECT_EQ(program.wait("z"), 3000);
  EXPECT_EQ(program.wait("x"), 7000);
  EXPECT_EQ(program.wait("y"), 10000);
  const VirtualReport report = program.vm.report();
  EXPECT_EQ(report.busy_ps, 10000);
  EXPECT_EQ(report.overlapping_ps, 7000);
  EXPECT_DOUBLE_EQ(report.overlap(), 0.7);
}

TEST(VirtualMachine, ComputingAndCopyingOverlap) {
  // Each result, computed in 1000 ps, goes to the host in 2000 ps while the next ones are computed.
  Program program(simple_machine(1));
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    program.compute(gpu(0), 1000, {}, {"x" + number});
    program.copy(gpu(0), kCpu, 2, {"x" + number}, {"y" + number});
  }
  EXPECT_EQ(program.wait_all(), 1000 + 10 * 2000);
}

TEST(VirtualMachine, DirectionsHaveStreamsOfTheirOwn) {
  Program program(simple_machine(3));
  program.copy(kCpu, gpu(0), 4, {}, {"a"});
  program.copy(gpu(0), kCpu, 5, {}, {"b"});
  program.copy(gpu(1), gpu(0), 6, {}, {"c"});
  program.copy(gpu(2), gpu(0), 7, {}, {"d"});
  program.compute(gpu(0), 8000, {}, {"e"});
  program.push({.name = "sum", .device = gpu(0), .role = StreamRole::kCommunication, .flops = 9000}, {}, {"f"});
  EXPECT_EQ(program.wait_all(), 9000);
  EXPECT_EQ(program.vm.report().streams.size(), 6u);
  for (int i = 0; i < 2; ++i) program.copy(gpu(1), gpu(0), 6, {}, {"c" + std::to_string(i)});
  EXPECT_EQ(program.wait_all(), 9000 + 12000);
}

TEST(VirtualMachine, ReadersShareAndWritersWait) {
  Program program(simple_machine(4));
  program.compute(gpu(0), 100, {}, {"x"});        // 0 to 100
  program.compute(gpu(1), 200, {"x"}, {"a"});     // 100 to 300: after the writer
  program.compute(gpu(2), 500, {"x"}, {"b"});     // 100 to 600: beside the other reader
  program.compute(gpu(0), 10, {}, {"x"});         // 600 to 610: after all readers
  program.compute(gpu(3), 5, {}, {"x"});          // 610 to 615: after the writer
  program.compute(gpu(1), 1, {"x", "x"}, {"x"});  // 615 to 616: once, though it is named thrice
  EXPECT_EQ(program.wait("a"), 300);
  EXPECT_EQ(program.wait("b"), 600);
  EXPECT_EQ(program.wait("x"), 616);
}

TEST(VirtualMachine, WritersWaitForWritersWithoutReaders) {
  Program program(simple_machine(2));
  program.compute(gpu(0), 100, {}, {"x", "x"});
  program.compute(gpu(1), 1, {}, {"x", "y"});
  EXPECT_EQ(program.wait("y"), 101);
}

TEST(VirtualMachine, AStreamTakesTheMostUrgentThenTheFirst) {
  Program program(simple_machine(1));
  program.compute(gpu(0), 1000, {}, {"a"}, 1);  // first: all four are ready at 0, and this one was pushed before
  program.compute(gpu(0), 100, {}, {"b"}, 0);   // third
  program.compute(gpu(0), 10, {}, {"c"}, 1);    // second
  program.compute(gpu(0), 1, {}, {"d"}, -1);    // last
  EXPECT_EQ(program.wait("a"), 1000);
  EXPECT_EQ(program.wait("c"), 1010);
  EXPECT_EQ(program.wait("b"), 1110);
  EXPECT_EQ(program.wait("d"), 1111);
}

TEST(VirtualMachine, WhatRunsIsNotInterrupted) {
  MachineSpec spec = simple_machine(1);
  spec.push_seconds = 1e-9;
  Program program(spec);
  program.compute(gpu(0), 10'000, {}, {"a"});  // from 1000
  program.compute(gpu(0), 100, {}, {"b"});     // from 11010
  program.compute(gpu(0), 10, {}, {"c"}, 5);   // from 11000
  EXPECT_EQ(program.wait("c"), 11'010);
  EXPECT_EQ(program.wait("b"), 11'110);
}

TEST(VirtualMachine, AStallHoldsUpWhatBeginsNextAndIsOnTheCriticalPath) {
  Program program(simple_machine(2));
  program.compute(gpu(0), 100, {}, {"x"});
  program.compute(gpu(0), 10, {}, {"y"});
  EXPECT_EQ(program.wait("x"), 100);
  program.vm.stall(0, 5000);
  program.vm.stall(0, 1000);  // instead
  program.compute(gpu(0), 1, {}, {"z"}, 1);
  program.compute(gpu(1), 20, {}, {"a"});
  EXPECT_EQ(program.wait("a"), 120);   // the other GPU goes on
  EXPECT_EQ(program.wait("z"), 1101);  // what is most urgent when the stall ends goes first
  EXPECT_EQ(program.wait("y"), 1111);
  program.compute(gpu(0), 1, {}, {"z"});
  EXPECT_EQ(program.wait("z"), 1112);  // once
  const VirtualReport report = program.vm.report();
  ASSERT_EQ(report.path.size(), 2u);
  EXPECT_EQ(report.path[0].name, "stall");
  EXPECT_EQ(report.path[0].place, "gpu(0) compute");
  EXPECT_EQ(report.path[0].time_ps, 1000);
  EXPECT_EQ(report.path_frontend_ps, 0);
}

TEST(VirtualMachine, StallsCanBeForgotten) {
  Program program(simple_machine(2));
  program.vm.stall(1, 1000);
  program.vm.forget_stalls();
  program.compute(gpu(1), 10, {}, {"x"});
  EXPECT_EQ(program.wait("x"), 10);
  EXPECT_THROW(program.vm.stall(2, 10), Error);
  EXPECT_THROW(program.vm.stall(0, -1), Error);
  EXPECT_EQ(program.wait_all(), 10);
}

TEST(VirtualMachine, WhatIsNotReadyLetsOthersPass) {
  Program program(simple_machine(2));
  program.compute(gpu(0), 500, {}, {"x"});
  program.compute(gpu(1), 100, {"x"}, {"y"}, 9);
  program.compute(gpu(1), 450, {}, {"z"});
  EXPECT_EQ(program.wait("z"), 450);
  EXPECT_EQ(program.wait("y"), 600);
}

TEST(VirtualMachine, WaitsEndWithWhatTheyWaitFor) {
  Program program(simple_machine(2));
  program.compute(gpu(0), 100, {}, {"x"});
  program.compute(gpu(1), 1000, {"x"}, {"y"});
  EXPECT_EQ(program.wait("never written"), 0);
  EXPECT_EQ(program.wait("x"), 100);
  EXPECT_EQ(program.wait("x", true), 1100);  // for the reader, too
  EXPECT_EQ(program.wait("x"), 1100);        // no clock goes back
  program.compute(gpu(0), 10, {}, {"x"});
  EXPECT_EQ(program.wait_all(), 1110);
}

TEST(VirtualMachine, WhatIsPushedAtTheEndOfAWaitStillCompetes) {
  Program program(simple_machine(1));
  program.compute(gpu(0), 100, {}, {"x"});
  program.compute(gpu(0), 1000, {}, {"y"});
  EXPECT_EQ(program.wait("x"), 100);
  program.compute(gpu(0), 1, {}, {"z"}, 1);
  EXPECT_EQ(program.wait("z"), 101);
  EXPECT_EQ(program.wait("y"), 1101);
}

TEST(VirtualMachine, ForgottenResourcesHaveNoPast) {
  Program program(simple_machine(2));
  program.compute(gpu(0), 100, {}, {"x"});
  program.compute(gpu(1), 1, {"x"}, {"y"});
  program.vm.forgotten(timeline::intern("x"));
  program.compute(gpu(1), 10, {}, {"x"});
  EXPECT_EQ(program.wait("x"), 10);
  EXPECT_EQ(program.wait("y"), 101);  // what was pushed before keeps its order
}

TEST(VirtualMachine, TheFrontendIsHeldUpWhenItIsTooFarAhead) {
  MachineSpec spec = simple_machine(1);
  spec.push_seconds = 1e-12;
  spec.most_pending = 10;
  Program program(spec);
  for (int i = 0; i < 10; ++i) program.compute(gpu(0), 1000, {}, {"x"});
  EXPECT_EQ(program.vm.now_ps(), 10);
  program.compute(gpu(0), 1000, {}, {"x"});
  EXPECT_EQ(program.vm.now_ps(), 1 + 5 * 1000 + 1);  // until five of the ten were left
  EXPECT_EQ(program.vm.report().ended, 5);
  EXPECT_EQ(program.vm.report().pending, 6);
}

TEST(VirtualMachine, TheHostIsTheCpusOfItsNodeTogether) {
  MachineSpec spec(loaded("p3"));
  spec.push_seconds = 0;
  const Machine machine(spec);
  EXPECT_EQ(machine.host_rates().flops, spec.rates[0].flops + spec.rates[1].flops);
  Program program(spec);
  program.push({.name = "dot", .device = kCpu, .flops = 1e9}, {}, {"x"});
  program.push({.name = "dot", .device = {DeviceType::kCpu, 1}, .flops = 1e9}, {}, {"y"});
  program.push({.name = "copy", .device = kCpu, .role = StreamRole::kHostToDevice, .flops = 1e9}, {}, {"z"});
  const double one = spec.rates[0].launch + 1e9 / machine.host_rates().flops;
  EXPECT_EQ(program.wait_all(), 3 * std::llround(one * 1e12));  // one after the other
}

TEST(VirtualMachine, CopiesShareLinks) {
  MachineSpec spec(without_latency(*loaded("pcie4")));
  spec.push_seconds = 0;
  Program program(spec);
  program.copy(gpu(0), kCpu, 16e6, {}, {"a"});
  program.copy(gpu(1), kCpu, 16e6, {}, {"b"});
  program.copy(kCpu, gpu(2), 16e6, {}, {"c"});
  EXPECT_EQ(program.wait("c"), 1 * kMillisecond);
  EXPECT_EQ(program.wait_all(), 2 * kMillisecond);
  for (const LinkUse& link : program.vm.report().links) {
    EXPECT_EQ(link.bytes, link.name == "switch>cpu0" ? 32'000'000u : 16'000'000u) << link.name;
    const bool crowded = link.name == "switch>cpu0" || link.name == "gpu0>switch" || link.name == "gpu1>switch";
    EXPECT_EQ(link.busy_ps, crowded ? 2 * kMillisecond : 1 * kMillisecond) << link.name;
  }
  EXPECT_EQ(program.vm.report().links.size(), 5u);
}

TEST(VirtualMachine, LatencyComesBeforeTheBytes) {
  Program program(simple_machine(1, 2e-6));
  program.copy(kCpu, gpu(0), 1000, {}, {"a"});
  program.copy(kCpu, gpu(0), 1000, {}, {"b"});
  EXPECT_EQ(program.wait_all(), 6 * kMicrosecond);
  const VirtualReport report = program.vm.report();
  EXPECT_EQ(stream_of(report, "gpu(0)", "host to device")->busy_ps, 6 * kMicrosecond);
  EXPECT_EQ(report.links.at(0).busy_ps, 2 * kMicrosecond);
}

TEST(VirtualMachine, AGpuHasTheHostOfItsNode) {
  MachineSpec spec(without_latency(*loaded("ethernet:2x10")));
  spec.push_seconds = 0;
  Program program(spec);
  program.copy(kCpu, gpu(1), 16e6, {}, {"x"});
  EXPECT_EQ(program.wait_all(), 1 * kMillisecond);  // inside node 1
  program.copy(gpu(0), gpu(1), 1.25e6, {}, {"x"});
  EXPECT_EQ(program.wait_all(), 1 * kMillisecond + kMillisecond * 1538 / 1448);  // in frames, over the network
}

// A sum of 160 MB over four GPUs: time is bytes through links, as the seeds count it.
class GradientSums : public ::testing::Test {
 protected:
  static constexpr double kBytes = 160e6;
  static constexpr int kGpus = 4;

  static MachineSpec spec() {
    MachineSpec machine(without_latency(*loaded("pcie4")));
    machine.rates.assign(machine.rates.size(), {});
    machine.push_seconds = 0;
    return machine;
  }
  static std::string name(const char* kind, int at, int of) {
    return kind + std::to_string(at) + "/" + std::to_string(of);
  }
  // `center` gets the part of `owner` from all others, adds, and sends the sum back.
  void gather(Device center, int owner, double bytes) {
    const std::string sum = name("sum", owner, owner);
    for (int i = 0; i < kGpus; ++i) {
      if (gpu(i) == center) continue;
      program.copy(gpu(i), center, bytes, {name("part", i, owner)}, {name("scratch", owner, i)});
      program.push({.name = "add", .device = center, .flops = bytes / 4, .bytes = 3 * bytes},
                   {name("scratch", owner, i), sum}, {sum});
    }
  }
  void scatter(Device center, int owner, double bytes) {
    for (int i = 0; i < kGpus; ++i)
      if (gpu(i) != center) program.copy(center, gpu(i), bytes, {name("sum", owner, owner)}, {name("part", i, owner)});
  }

  Program program{spec()};
};

TEST_F(GradientSums, EightyMillisecondsThroughTheHost) {
  gather(kCpu, 0, kBytes);
  scatter(kCpu, 0, kBytes);
  EXPECT_EQ(program.wait_all(), 80 * kMillisecond);
}

TEST_F(GradientSums, SixtyMillisecondsOnOneGpu) {
  gather(gpu(0), 0, kBytes);
  scatter(gpu(0), 0, kBytes);
  EXPECT_EQ(program.wait_all(), 60 * kMillisecond);
}

TEST_F(GradientSums, FifteenMillisecondsInShards) {
  for (int i = 0; i < kGpus; ++i) gather(gpu(i), i, kBytes / kGpus);
  for (int i = 0; i < kGpus; ++i) scatter(gpu(i), i, kBytes / kGpus);
  EXPECT_EQ(program.wait_all(), 15 * kMillisecond);
}

TEST(VirtualMachine, TheCriticalPathIsWhatNothingElseHid) {
  MachineSpec spec = simple_machine(2);
  spec.push_seconds = 1e-10;
  Program program(spec);
  program.push({.name = "hidden", .device = gpu(1), .flops = 500}, {}, {"z"});      // 100 to 600
  program.push({.name = "first", .device = gpu(0), .flops = 1000}, {}, {"x"});      // 200 to 1200
  program.push({.name = "other", .device = gpu(0), .flops = 10}, {}, {"y"});        // 1200 to 1210
  program.push({.name = "second", .device = gpu(1), .flops = 2000}, {"x"}, {"y"});  // 1210 to 3210
  EXPECT_EQ(program.wait("y"), 3210);
  program.push({.name = "last", .device = gpu(0), .flops = 90}, {}, {"w"});  // 3310 to 3400
  EXPECT_EQ(program.wait_all(), 3400);
  const VirtualReport report = program.vm.report();
  Names names;
  for (const PathOperation& one : report.last) names.push_back(one.name);
  EXPECT_EQ(names, (Names{"first", "other", "second", "last"}));
  EXPECT_EQ(report.path_frontend_ps, 200 + 100);
  EXPECT_EQ(report.path.at(0).name, "second");
  EXPECT_EQ(report.path.at(0).place, "gpu(1) compute");
  EXPECT_EQ(report.path.at(0).time_ps, 2000);
  EXPECT_EQ(report.last.back().begin_ps, 3310);
  EXPECT_EQ(report.last.back().end_ps, 3400);
}

TEST(VirtualMachine, TheReportIsReadable) {
  MachineSpec spec = simple_machine(2);
  spec.push_seconds = 1e-9;
  Program program(spec);
  program.compute(gpu(0), 2e6, {}, {"x"});
  program.copy(gpu(0), gpu(1), 3000, {"x"}, {"y"});
  program.wait_all();
  EXPECT_EQ(
      program.vm.report().text(),
      "virtual time on simple: 5.001000 us, 2 operations ended, 0 pending\n"
      "frontend: 0.002000 us pushing, 4.999000 us waiting\n"
      "overlap: 0.0%: at least two streams were busy for 0.000000 us of the 5.000000 us in which at least one was\n"
      "\n"
      "stream                                                busy   share      operations\n"
      "  gpu(0) compute                               2.000000 us   40.0%               1\n"
      "  gpu(1) from gpu(0)                           3.000000 us   60.0%               1\n"
      "\n"
      "link                                                  busy   share           bytes\n"
      "  gpu0>gpu1                                    3.000000 us   60.0%            3000\n"
      "\n"
      "critical path                                         time   share      operations\n"
      "  frontend                                     0.001000 us    0.0%               -\n"
      "  gpu(1) from gpu(0): copy                     3.000000 us   60.0%               1\n"
      "  gpu(0) compute: compute                      2.000000 us   40.0%               1\n");
}

TEST(VirtualMachine, NothingToReport) {
  Program program(simple_machine(1));
  EXPECT_EQ(
      program.vm.report().text(),
      "virtual time on simple: 0.000000 us, 0 operations ended, 0 pending\n"
      "frontend: 0.000000 us pushing, 0.000000 us waiting\n"
      "overlap: 0.0%: at least two streams were busy for 0.000000 us of the 0.000000 us in which at least one was\n"
      "\n"
      "critical path                                         time   share      operations\n"
      "  frontend                                     0.000000 us    0.0%               -\n");
}

// The first error stops the clock and comes out where time is asked for.
TEST(VirtualMachine, Errors) {
  const auto fails_with = [](MachineSpec spec, const PushedWork& work, const std::string& part) {
    Program program(std::move(spec));
    program.vm.pushed(work);
    program.vm.pushed({.name = "later", .device = kCpu});
    program.vm.waited_all();
    expect_value_error([&] { program.vm.now_ps(); }, part);
    expect_value_error([&] { program.vm.report(); }, part);
    expect_value_error([&] { program.vm.advance(1); }, part);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  fails_with(simple_machine(2), {.name = "dot", .device = gpu(2)},
             "machine simple: 'dot' runs on gpu(2), but there are 2 GPUs");
  fails_with(simple_machine(2), {.name = "dot", .device = gpu(0), .role = StreamRole::kCommunication, .source = gpu(5)},
             "but there are 2 GPUs");
  fails_with(
      simple_machine(2), {.name = "pull", .device = gpu(0), .role = StreamRole::kCommunication, .source = kCpu},
      "'pull' copies from cpu(0) to gpu(0) as communication between accelerators; use the role 'host to device'");
  fails_with(simple_machine(2), {.name = "dot", .device = gpu(0), .flops = -1},
             "'dot' must take from 0 to 1e+24 flops");
  fails_with(simple_machine(2), {.name = "dot", .device = gpu(0), .bytes = nan}, "got 0 and nan");
  fails_with(simple_machine(2), {.name = "dot", .device = gpu(0), .flops = 1e19}, "'dot' would take the clock beyond");
  fails_with(simple_machine(2), {.name = "copy", .device = gpu(0), .role = StreamRole::kHostToDevice, .bytes = 1e18},
             "'copy' would take the clock beyond a hundred days");
  const TopologySpec no_host{"alone", {{"gpu0"}}, {}, {}};
  fails_with(MachineSpec(std::make_shared<Topology>(no_host)),
             {.name = "copy", .device = gpu(0), .role = StreamRole::kDeviceToHost}, "node 0 has no CPU");
}

TEST(VirtualMachine, MachinesThatMakeNoSense) {
  const auto refused = [](const std::function<void(MachineSpec&)>& change, const std::string& part) {
    MachineSpec spec = simple_machine(1);
    change(spec);
    expect_value_error([&] { VirtualMachine{spec}; }, part);
  };
  refused([](MachineSpec& spec) { spec.rates.pop_back(); }, "has 2 devices, got rates for 1");
  refused([](MachineSpec& spec) { spec.rates[1].flops = 0; }, "the flops of gpu0 must be from 1");
  refused([](MachineSpec& spec) { spec.rates[0].bandwidth = -1; }, "the memory bandwidth of cpu0 must be");
  refused([](MachineSpec& spec) { spec.rates[0].launch = 1e9; }, "the launch of cpu0 must be");
  refused([](MachineSpec& spec) { spec.push_seconds = -1; }, "pushing an operation must take from 0");
  refused([](MachineSpec& spec) { spec.most_pending = 0; }, "most_pending = 0");
  Program program(simple_machine(1));
  expect_value_error([&] { program.vm.advance(-5); }, "advance(-5)");
  EXPECT_EQ(program.vm.now_ps(), 0);  // a refused call leaves the clock going
}

TEST(VirtualMachine, GpusAreCountedByNodeAndNumber) {
  const TopologySpec spec{
      "mixed",
      {{"node1/gpu0", kUnlimited, {1, 1, 0}}, {"gpu3", kUnlimited, {2, 1, 0}}, {"gpu1", kUnlimited, {3, 1, 0}}},
      {{"s"}},
      {{"node1/gpu0", "s", 1e9}, {"gpu3", "s", 1e9}, {"gpu1", "s", 1e9}}};
  const Machine machine{MachineSpec(std::make_shared<Topology>(spec))};
  EXPECT_EQ(machine.gpu_count(), 3);
  EXPECT_EQ(machine.gpu_rates(0).flops, 3);
  EXPECT_EQ(machine.gpu_rates(1).flops, 2);
  EXPECT_EQ(machine.gpu_rates(2).flops, 1);
}

// Names of bars are resources here, so that each can be told apart.
TEST(VirtualMachine, TheTimelineHasStreamsLinksAndWaits) {
  timeline::start();
  MachineSpec spec(without_latency(*loaded("pcie4")));
  spec.rates.assign(spec.rates.size(), {1e12, 1e12, 0});
  spec.push_seconds = 0;
  Program program(spec);
  program.compute(gpu(0), 1e6, {}, {"x"});
  program.copy(gpu(0), gpu(2), 16'000, {"x"}, {"y"});
  program.copy(gpu(1), gpu(2), 16'000, {"x"}, {"z"});
  program.wait_all();
  timeline::stop();
  std::vector<std::string> bars;
  for (const timeline::Lane& lane : timeline::collect())
    for (const timeline::Event& event : lane.events)
      if (lane.clock == timeline::Clock::kVirtual)
        bars.push_back(fmt::format("{}/{}: {} {} {}", lane.group, lane.name, event.name, event.begin_ns, event.end_ns));
  std::ranges::sort(bars);
  EXPECT_EQ(bars, (Names{"gpu(0)/compute: compute 0 1000", "gpu(2)/from gpu(0): copy 1000 3000",
                         "gpu(2)/from gpu(1): copy 1000 3000", "host/frontend: wait 0 3000",
                         "links/gpu0>switch: copy 1000 3000", "links/gpu1>switch: copy 1000 3000",
                         "links/switch>gpu2 (2): copy 1000 3000", "links/switch>gpu2: copy 1000 3000"}));
}

TEST(VirtualMachine, SeveralThreadsMayPush) {
  Program program(simple_machine(4));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Names mine{"x" + std::to_string(t)};
      for (int i = 0; i < 500; ++i) {
        program.compute(gpu(t), 10, {"shared"}, mine);
        if (i % 100 == 99) program.wait(mine[0]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  program.wait_all();
  const VirtualReport report = program.vm.report();
  EXPECT_EQ(report.ended, 2000);
  for (const StreamUse& stream : report.streams) EXPECT_EQ(stream.busy_ps, 5000);
}

}  // namespace
}  // namespace headrace::sim
