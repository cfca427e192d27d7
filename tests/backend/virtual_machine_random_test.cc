// Random programs on the virtual machine and on a slow simulator that follows the model's words; large programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "virtual_machines.h"

namespace headrace::sim {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

struct Operation {
  std::string stream;
  int64_t duration_ps = 0;
  int priority = 0;
  std::set<std::string> reads, writes;
  int64_t push_ps = 0, begin_ps = -1, end_ps = kForever;
};

bool meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::any_of(a, [&](const std::string& one) { return b.contains(one); });
}

bool conflict(const Operation& a, const Operation& b) {
  return meet(a.writes, b.reads) || meet(a.writes, b.writes) || meet(a.reads, b.writes);
}

// Looks at all operations at every moment.
class SlowMachine {
 public:
  SlowMachine(int64_t push_ps, size_t most_pending) : push_ps_(push_ps), most_pending_(most_pending) {}

  void push(Operation operation) {
    run_until(clock_, [] { return false; });
    if (pending() >= most_pending_) wait([&] { return pending() <= most_pending_ / 2; });
    operation.push_ps = clock_ += push_ps_;
    operations.push_back(operation);
  }
  void wait_for(const std::string& resource, bool for_all) {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < operations.size(); ++i)
      if (operations[i].writes.contains(resource) || (for_all && operations[i].reads.contains(resource)))
        wanted.push_back(i);
    wait([&] { return std::ranges::all_of(wanted, [&](size_t i) { return has_ended(operations[i]); }); });
  }
  void wait_all() {
    wait([&] { return pending() == 0; });
  }
  void advance(int64_t ps) { clock_ += ps; }
  int64_t clock() const { return clock_; }

  std::vector<Operation> operations;

 private:
  bool has_ended(const Operation& one) const { return one.begin_ps >= 0 && one.end_ps <= now_; }
  size_t pending() const {
    return std::ranges::count_if(operations, [&](const Operation& one) { return !has_ended(one); });
  }
  template <class Done>
  void wait(Done done) {
    run_until(kForever, done);
    clock_ = std::max(clock_, now_);
  }

  template <class Done>
  void run_until(int64_t limit, Done done) {
    while (!done() && now_ < limit) {
      bool at_once = false;
      for (auto& [stream, chosen] : choices()) {
        operations[chosen].begin_ps = now_;
        operations[chosen].end_ps = now_ + operations[chosen].duration_ps;
        at_once |= operations[chosen].duration_ps == 0;
      }
      if (at_once) continue;
      int64_t next = kForever;
      for (const Operation& one : operations)
        for (int64_t moment : {one.push_ps, one.end_ps})
          if (moment > now_) next = std::min(next, moment);
      if (next > limit || next == kForever) return;
      now_ = next;
    }
  }

  // What each idle stream begins now.
  std::map<std::string, size_t> choices() const {
    std::map<std::string, size_t> chosen;
    std::set<std::string> busy;
    for (const Operation& one : operations)
      if (one.begin_ps >= 0 && !has_ended(one)) busy.insert(one.stream);
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation& one = operations[i];
      if (one.begin_ps >= 0 || busy.contains(one.stream) || one.push_ps > now_) continue;
      bool ready = true;
      for (size_t j = 0; j < i && ready; ++j) ready = has_ended(operations[j]) || !conflict(operations[j], one);
      if (!ready) continue;
      const auto [known, is_first] = chosen.try_emplace(one.stream, i);
      if (!is_first && one.priority > operations[known->second].priority) known->second = i;
    }
    return chosen;
  }

  int64_t push_ps_, clock_ = 0, now_ = 0;
  size_t most_pending_;
};

class RandomPrograms : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kGpus = 3;
  static constexpr int64_t kUnit = 1000;  // a nanosecond, what the timeline can show

  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  std::string resource() { return "r" + std::to_string(below(6)); }
  Names resources(int most) {
    Names names(below(most + 1));
    for (std::string& name : names) name = resource();
    return names;
  }

  // The same work for both; its name is its number.
  void push(Program& program, SlowMachine& slow) {
    const int time = below(6), number = static_cast<int>(slow.operations.size());
    const Names reads = resources(3), writes = resources(2);
    PushedWork work{.name = timeline::intern("op" + std::to_string(number)), .device = gpu(below(kGpus))};
    work.priority = below(3);
    std::string stream = to_string(work.device) + " ";
    switch (const int kind = below(5)) {
      case 0:
        work.device = kCpu;
        work.flops = static_cast<double>(time * kUnit);
        stream = "cores";
        break;
      case 1:
      case 2:
        work.role = kind == 1 ? StreamRole::kHostToDevice : StreamRole::kDeviceToHost;
        work.bytes = time;  // at 1 GB/s
        stream += role_name(work.role);
        break;
      case 3:
        work.role = StreamRole::kCommunication;
        work.source = gpu((work.device.id + 1 + below(kGpus - 1)) % kGpus);
        work.bytes = time;
        stream += "from " + to_string(*work.source);
        break;
      default:
        work.flops = static_cast<double>(time * kUnit);
        stream += "compute";
    }
    program.push(work, reads, writes);
    slow.push({stream, time * kUnit, work.priority, {reads.begin(), reads.end()}, {writes.begin(), writes.end()}});
  }

  // The critical path is a chain of operations that did happen, one after the other; in its gaps the frontend works.
  static void check_path(const VirtualReport& report, const SlowMachine& slow) {
    int64_t until = 0, gaps = 0;
    for (const PathOperation& step : report.last) {
      const Operation& operation = slow.operations.at(std::stoul(step.name.substr(2)));
      ASSERT_EQ(step.begin_ps, operation.begin_ps);
      ASSERT_EQ(step.end_ps, operation.end_ps);
      ASSERT_GE(step.begin_ps, until);
      gaps += step.begin_ps - until;
      until = step.end_ps;
    }
    EXPECT_EQ(report.path_frontend_ps, gaps + report.total_ps - until);
    EXPECT_LE(report.path_frontend_ps, report.pushing_ps);
    EXPECT_EQ(report.pushing_ps + report.waiting_ps, report.total_ps);
  }

  std::mt19937_64 random_{static_cast<uint64_t>(GetParam())};
};

TEST_P(RandomPrograms, TakeAsLongAsTheModelSays) {
  timeline::start();
  MachineSpec spec = simple_machine(kGpus);
  const int64_t push_ps = below(3) * kUnit;
  spec.push_seconds = static_cast<double>(push_ps) / 1e12;
  spec.most_pending = below(2) ? 1000 : 1 + below(20);
  Program program(spec);
  SlowMachine slow(push_ps, static_cast<size_t>(spec.most_pending));
  for (int i = 0; i < 150; ++i) {
    push(program, slow);
    if (below(20) == 0) {
      const std::string name = resource();
      const bool for_all = below(2);
      program.wait(name, for_all);
      slow.wait_for(name, for_all);
    } else if (below(20) == 0) {
      const int64_t ps = below(10) * kUnit;
      program.vm.advance(ps);
      slow.advance(ps);
    }
    ASSERT_EQ(program.vm.now_ps(), slow.clock()) << "after operation " << i;
  }
  program.wait_all();
  slow.wait_all();
  timeline::stop();
  ASSERT_EQ(program.vm.now_ps(), slow.clock());

  std::map<std::string, std::pair<double, double>> bars;
  for (const timeline::Lane& lane : timeline::collect())
    for (const timeline::Event& event : lane.events)
      if (lane.clock == timeline::Clock::kVirtual && lane.group != "links" && lane.name != "frontend")
        bars[event.name] = {event.begin_ns, event.end_ns};
  ASSERT_EQ(bars.size(), slow.operations.size());
  for (size_t i = 0; i < slow.operations.size(); ++i) {
    const auto [begin, end] = bars["op" + std::to_string(i)];
    ASSERT_EQ(begin * kUnit, slow.operations[i].begin_ps) << i;
    ASSERT_EQ(end * kUnit, slow.operations[i].end_ps) << i;
  }
  check_path(program.vm.report(), slow);
}

TEST_P(RandomPrograms, SameCallsSameTimes) {
  const auto run = [&] {
    random_.seed(GetParam());
    MachineSpec spec(loaded("p3"));
    Program program(spec);
    for (int i = 0; i < 400; ++i) {
      const Names reads = resources(3), writes = resources(2);
      const Device device = gpu(below(8)), other = gpu(below(8));
      if (below(2))
        program.compute(device, below(100'000'000), reads, writes, below(3));
      else if (below(3))
        program.copy(other, device, below(1'000'000), reads, writes);
      else
        program.copy(kCpu, device, below(1'000'000), reads, writes);
    }
    program.wait_all();
    return program.vm.report().text();
  };
  const std::string first = run();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), first);
}

// A training loop on eight GPUs: layers forward and backward, each gradient summed in a ring's first hop while the next
// is computed, a parameter that all read, a loss that the host reads now and then.
TEST(VirtualMachineSlow, AMillionOperations) {
  constexpr int kGpus = 8, kLayers = 50, kSteps = 834;
  MachineSpec spec(loaded("p3"));
  Program program(spec);
  std::vector<Names> gradients(kGpus);
  for (int g = 0; g < kGpus; ++g)
    for (int layer = 0; layer < kLayers; ++layer)
      gradients[g].push_back("g" + std::to_string(g) + "." + std::to_string(layer));
  for (int step = 0; step < kSteps; ++step) {
    for (int layer = 0; layer < kLayers; ++layer)
      for (int g = 0; g < kGpus; ++g) {
        const Names own{gradients[g][layer]};
        const std::string loss = "loss" + std::to_string(g);
        program.compute(gpu(g), 1e8, {"shared", loss}, {loss});
        program.compute(gpu(g), 2e8, {loss}, own);
        program.copy(gpu(g), gpu((g + 1) % kGpus), 1e5, own, {gradients[(g + 1) % kGpus][layer] + "in"});
      }
    program.wait("loss0");
  }
  program.wait_all();
  const VirtualReport report = program.vm.report();
  EXPECT_EQ(report.ended, int64_t{kGpus} * kLayers * kSteps * 3);
  const int64_t of_one = 2 * 900'000 + std::llround(1e8 / 15.7e12 * 1e12) + std::llround(2e8 / 15.7e12 * 1e12);
  for (const StreamUse& stream : report.streams)
    EXPECT_TRUE(stream.name != "compute" || stream.busy_ps == of_one * kLayers * kSteps) << stream.busy_ps;
  EXPECT_GE(report.total_ps, of_one * kLayers * kSteps);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range(0, 40));

}  // namespace
}  // namespace headrace::sim
