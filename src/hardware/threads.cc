// What threads cost: locks, shared lines, waking up, handing over.
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/spin_budget.h"
#include "hardware/probes.h"

namespace headrace::hardware {
namespace {

constexpr char kOneProcessor[] = "needs two processors, and the process may use one";

std::array<int, 2> two_processors(const Workbench& bench) {
  if (bench.numbers().size() < 2) throw NotMeasured(kOneProcessor);
  const auto other = in_other_core(bench.processors());
  return {bench.numbers()[0], other ? other->number : bench.numbers()[1]};
}

Figure mutex_alone(Workbench& bench) {
  std::mutex mutex;
  double seconds = 0;
  run_on_first(bench, [&] {
    seconds = seconds_per_item(bench.effort(), [&](int64_t times) {
      for (int64_t i = 0; i < times; ++i) {
        mutex.lock();
        mutex.unlock();
      }
    });
  });
  return {seconds};
}

// Seconds per call of step(index), which two threads make at the same time: from the first to begin to the last to end.
template <class Step>
double two_threads(Workbench& bench, Step step) {
  const std::array<int, 2> pair = two_processors(bench);
  std::array<uint64_t, 2> begin{}, end{};
  const auto run = [&](int64_t times) {
    run_on(pair, [&](size_t index) {
      begin[index] = steady_ns();
      for (int64_t i = 0; i < times; ++i) step(index);
      end[index] = steady_ns();
    });
    return static_cast<double>(std::max(end[0], end[1]) - std::min(begin[0], begin[1])) * kSecondsPerNs;
  };
  int64_t times = 1000;
  while (run(times) < bench.effort().seconds_per_round) times *= 2;
  std::vector<double> rounds;
  for (int i = 0; i < bench.effort().rounds; ++i) rounds.push_back(run(times) / static_cast<double>(times));
  return median(std::move(rounds));
}

Figure mutex_contended(Workbench& bench) {
  std::mutex mutex;
  return {two_threads(bench, [&](size_t) { const std::lock_guard lock(mutex); }), "two threads, each as often"};
}

struct alignas(kLineBytes) Line {
  std::array<std::atomic<uint64_t>, kLineBytes / sizeof(uint64_t)> words{};
};

template <bool kSameLine>
Figure counters(Workbench& bench) {
  std::array<Line, 4> lines;  // the second line of a pair may be fetched with the first: leave room
  const auto step = [&](size_t index) {
    auto& word = kSameLine ? lines[0].words[index] : lines[3 * index].words[0];
    word.fetch_add(1, std::memory_order_relaxed);
  };
  return {two_threads(bench, step)};
}

Figure thread_start(Workbench& bench) {
  return {median(sample(bench.effort(), [] { std::thread([] {}).join(); }))};
}

Figure thread_wake(Workbench&) {
  return {static_cast<double>(measure_wake_ns()) * kSecondsPerNs, "the engine's own calibration"};
}

// From notify_one() to the first thing that the thread does which waited.
Figure condition_wake(Workbench& bench) {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t round = 0, answered = 0;  // guarded by mutex
  uint64_t woken_at = 0;            // guarded by mutex
  std::vector<double> seconds;
  std::jthread sleeper([&] {
    std::unique_lock lock(mutex);
    for (int64_t next = 1; round >= 0; ++next) {
      changed.wait(lock, [&] { return round == next || round < 0; });
      woken_at = steady_ns();
      answered = next;
    }
  });
  const int rounds = bench.quick() ? 9 : 31;
  for (int64_t i = 1; i <= rounds; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // until the sleeper sleeps
    uint64_t start = 0;
    {
      const std::lock_guard lock(mutex);
      round = i;
      start = steady_ns();
    }
    changed.notify_one();
    for (bool done = false; !done; std::this_thread::yield()) {
      const std::lock_guard lock(mutex);
      done = answered == i;
      if (done) seconds.push_back(static_cast<double>(woken_at - start) * kSecondsPerNs);
    }
  }
  {
    const std::lock_guard lock(mutex);
    round = -1;
  }
  changed.notify_one();
  return {median(std::move(seconds))};
}

// Half of a round trip between two threads that look for each other's word all the time. A thread that found nothing
// for long gives its processor away, in case the other one needs it.
Figure handover(Workbench& bench) {
  constexpr int kTrips = 100, kPatience = 10'000;
  const std::array<int, 2> pair = two_processors(bench);
  const int rounds = bench.quick() ? 9 : 51;
  std::array<Line, 4> lines;
  const auto wait_for = [](const std::atomic<uint64_t>& word, uint64_t value) {
    for (int misses = 0; word.load(std::memory_order_acquire) != value; ++misses)
      if (misses >= kPatience) std::this_thread::yield();
  };
  std::vector<double> seconds;
  run_on(pair, [&](size_t index) {
    auto &mine = lines[3 * index].words[0], &other = lines[3 * (1 - index)].words[0];
    uint64_t value = 0;
    for (int round = 0; round < rounds; ++round) {
      const uint64_t start = steady_ns();
      for (int trip = 0; trip < kTrips; ++trip) {
        ++value;
        if (index == 1) wait_for(other, value);
        mine.store(value, std::memory_order_release);
        if (index == 0) wait_for(other, value);
      }
      if (index == 0) seconds.push_back(seconds_since(start) / (2 * kTrips));
    }
  });
  return {median(std::move(seconds))};
}

}  // namespace

std::vector<Row> thread_rows() {
  constexpr Unit kTime = Unit::kSeconds;
  return {
      {"mutex", "mutex lock and unlock, nobody else wants it", kTime, {"mutex lock and unlock"}, mutex_alone},
      {"mutex_contended", "the same, while another thread does so, too", kTime, {}, mutex_contended},
      {"counters_apart", "two threads count, each in a cache line of its own", kTime, {}, counters<false>},
      {"counters_together", "two threads count in one cache line: false sharing", kTime, {}, counters<true>},
      {"thread_start", "start a thread and wait for its end", kTime, {}, thread_start},
      {"thread_wake", "wake a thread that sleeps on a futex", kTime, {}, thread_wake},
      {"condition_wake", "wake a thread that waits for a condition variable", kTime, {}, condition_wake},
      {"handover", "give a word to a thread that spins", kTime, {}, handover},
  };
}

}  // namespace headrace::hardware
