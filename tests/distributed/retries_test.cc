// Connections that break in the middle of requests and of answers: what is pushed counts once.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "tests/distributed/cluster.h"
#include "tests/distributed/proxy.h"

namespace headrace::distributed {
namespace {

using testing::Each;
using testing::ElementsAreArray;
using testing::Ge;
using testing::SizeIs;

// Servers that subtract what is pushed, and write down what that was.
class Recorder final : public ServerProgram {
 public:
  std::string command(int, kvstore::KVStore& store, int, const std::string&) override {
    store.set_updater([this](std::span<const kvstore::Update> updates) {
      for (const kvstore::Update& one : updates) {
        const float value = one.reduced.to_vector<float>().back();
        {
          std::lock_guard guard(mutex_);
          applied_[one.key].push_back(value);
        }
        copy_into(one.stored, call("elemwise_sub", {one.stored, one.reduced}));
      }
    });
    return {};
  }

  // What was applied to a key, in order.
  std::vector<float> applied(const kvstore::Key& key) const {
    std::lock_guard guard(mutex_);
    return applied_.at(key);
  }
  // What that makes of a key that was inited by 0.
  float replayed(const kvstore::Key& key) const {
    float value = 0;
    for (const float one : applied(key)) value -= one;
    return value;
  }

 private:
  mutable std::mutex mutex_;
  std::map<kvstore::Key, std::vector<float>> applied_;
};

// Large arrays pass by memory that processes share, or by messages; what is cut is a stream in either case.
class RetriesTest : public ClusterTest, public testing::WithParamInterface<bool> {
 protected:
  static constexpr int kRounds = 25, kWorkers = 2, kServers = 2, kCuts = 6;

  RetriesTest() {
    shares_memory_ = GetParam();
    route_ = [this](const std::string& server) {
      std::lock_guard guard(mutex_);
      const auto seed = static_cast<uint32_t>(proxies_.size()) + 17;
      proxies_.push_back(std::make_unique<Proxy>(server, seed, kCuts, shares_memory_ ? 4'000 : 400'000));
      return proxies_.back()->address();
    };
  }

  void run_through_proxies(bool asynchronous, const Work& work) {
    run(kWorkers, kServers, {.asynchronous = asynchronous}, recorder_, [&](kvstore::KVStore& store) {
      store.send_command(1, "record");
      for (const auto& [key, shape] : shapes_) store.init(key, filled(shape, 0));
      store.barrier();
      work(store);
      store.barrier();
    });
  }
  int cuts() const {
    int all = 0;
    for (const auto& proxy : proxies_) all += proxy->cuts();
    return all;
  }

  const std::map<kvstore::Key, Shape> shapes_{{"a", {3}}, {"b", {100, 100}}, {"c", {300, 200}}, {"d", {1}}};
  Recorder recorder_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
};
INSTANTIATE_TEST_SUITE_P(, RetriesTest, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "InMemory" : "InMessages"; });

TEST_P(RetriesTest, RoundsCountOnce) {
  run_through_proxies(false, [&](kvstore::KVStore& store) {
    float expected = 0;
    for (int round = 1; round <= kRounds; ++round) {
      for (const auto& [key, shape] : shapes_) store.push(key, {filled(shape, round * (store.rank() + 1))});
      expected -= static_cast<float>(3 * round);
      if (round % 3 == 0) continue;  // several are on their way
      for (const auto& [key, shape] : shapes_) EXPECT_THAT(pulled(store, key, shape), Each(expected)) << round;
    }
  });
  std::vector<float> sums;
  for (int round = 1; round <= kRounds; ++round) sums.push_back(static_cast<float>(3 * round));
  for (const auto& [key, shape] : shapes_) EXPECT_THAT(recorder_.applied(key), ElementsAreArray(sums));
  EXPECT_THAT(cuts(), Ge(kCuts));
}

TEST_P(RetriesTest, AsynchronousPushesCountOnceAndInOrder) {
  std::map<kvstore::Key, std::vector<float>> ends[kWorkers];
  run_through_proxies(true, [&](kvstore::KVStore& store) {
    for (int round = 0; round < kRounds; ++round)
      for (const auto& [key, shape] : shapes_) {
        store.push(key, {filled(shape, 1000 * store.rank() + round)});
        if (round % 3 == 0) pulled(store, key, shape);
      }
    for (const auto& [key, shape] : shapes_) pulled(store, key, shape);  // all of its own are applied
    store.barrier();
    for (const auto& [key, shape] : shapes_) ends[store.rank()][key] = pulled(store, key, shape);
  });
  for (const auto& [key, shape] : shapes_) {
    const std::vector<float> applied = recorder_.applied(key);
    EXPECT_THAT(applied, SizeIs(kWorkers * kRounds));
    for (int rank = 0; rank < kWorkers; ++rank) {
      std::vector<float> of_worker, expected;
      std::ranges::copy_if(applied, std::back_inserter(of_worker),
                           [&](float one) { return static_cast<int>(one) / 1000 == rank; });
      for (int round = 0; round < kRounds; ++round) expected.push_back(static_cast<float>(1000 * rank + round));
      EXPECT_EQ(of_worker, expected);
      EXPECT_THAT(ends[rank].at(key), Each(recorder_.replayed(key)));
    }
  }
  EXPECT_THAT(cuts(), Ge(kCuts));
}

}  // namespace
}  // namespace headrace::distributed
