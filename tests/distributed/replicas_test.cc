// Servers of two processes each, of which one is cut off from the scheduler while workers push.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "tests/distributed/cluster.h"
#include "tests/distributed/proxy.h"

namespace headrace::distributed {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Subtracts what was pushed, and half of what it subtracted before.
class Momentum final : public ServerProgram {
 public:
  std::string command(int, kvstore::KVStore& store, int, const std::string&) override {
    store.set_updater([this](std::span<const kvstore::Update> updates) {
      for (const kvstore::Update& one : updates) {
        const auto [found, is_new] = momenta_.try_emplace(one.key);
        if (is_new) found->second = zeros_like(one.stored);
        copy_into(found->second,
                  call("elemwise_add", {one.reduced, call("_mul_scalar", {found->second}, {{"scalar", 0.5}})}));
        copy_into(one.stored, call("elemwise_sub", {one.stored, found->second}));
        ++counts_[one.key];
      }
    });
    return {};
  }
  Kept kept_for(int, const kvstore::Key& key) override {
    const auto found = momenta_.find(key);
    return found == momenta_.end() ? Kept() : Kept{{found->second}, std::to_string(counts_[key])};
  }
  void keep_for(int, const kvstore::Key& key, const Kept& kept) override {
    if (kept.arrays.empty()) return;
    momenta_.insert_or_assign(key, kept.arrays[0]);
    counts_[key] = std::stoi(kept.rest);
  }

  int count(const kvstore::Key& key) const { return counts_.contains(key) ? counts_.at(key) : 0; }

 private:
  std::map<kvstore::Key, NDArray> momenta_;
  std::map<kvstore::Key, int> counts_;
};

constexpr int kProcesses = 4;  // of two servers

// Two workers and two servers. Each process of a server reaches the scheduler through a proxy.
class ReplicasTest : public ClusterTest, public testing::WithParamInterface<int> {
 protected:
  ReplicasTest() {
    replicas_ = 2;
    to_scheduler_ = [this](int port) {
      for (int i = 0; i < kProcesses; ++i) proxies_.push_back(std::make_unique<Proxy>(address_of("127.0.0.1", port)));
      return port;
    };
    serve_ = [this](int number, const Job& job, ServerProgram&) {
      Job own = job;
      const std::string& address = proxies_[static_cast<size_t>(number)]->address();
      own.port = std::stoi(address.substr(address.rfind(':') + 1));
      try {
        run_server(own, programs_[number]);
      } catch (const std::exception& error) {
        std::lock_guard guard(mutex_);
        failures_.push_back(error.what());
        failed_.notify_all();
      }
    };
  }

  // Before the scheduler has ended, which tells it why.
  void await_failure() {
    std::unique_lock lock(mutex_);
    failed_.wait(lock, [&] { return !failures_.empty(); });
  }

  std::vector<std::unique_ptr<Proxy>> proxies_;
  Momentum programs_[kProcesses];
  std::mutex mutex_;
  std::condition_variable failed_;
  std::vector<std::string> failures_;  // of servers; guarded by mutex_
};
INSTANTIATE_TEST_SUITE_P(, ReplicasTest, testing::Range(0, kProcesses));

float after(int rounds, double gradient) {
  double weight = 0, momentum = 0;
  for (int i = 0; i < rounds; ++i) {
    momentum = momentum / 2 + gradient;
    weight -= momentum;
  }
  return static_cast<float>(weight);
}

// What a process that was cut off does meanwhile counts for nothing, whichever it is.
TEST_P(ReplicasTest, GoOnWhenOneIsCutOff) {
  const std::vector<kvstore::Key> keys{"a", "b", "c", "d"};
  const Shape shape{40'000};
  Proxy* proxy = nullptr;  // of the process that is cut off
  int rounds = 0;          // of worker 0
  run(2, 2, false, [&](kvstore::KVStore& store) {
    const bool is_first = store.rank() == 0;
    int round = 0;
    const auto push_and_pull = [&](int times) {
      for (int i = 0; i < times; ++i) {
        for (const kvstore::Key& key : keys) store.push(key, {filled(shape, store.rank() + 1)});
        ++round;
        for (const kvstore::Key& key : keys) EXPECT_THAT(pulled(store, key, shape), Each(after(round, 3)));
      }
    };
    store.send_command(0, "begin");
    for (const kvstore::Key& key : keys) store.init(key, filled(shape, 0));
    push_and_pull(5);
    if (is_first) {
      proxy = proxies_[static_cast<size_t>(GetParam())].get();
      proxy->refuse(true);
    }
    push_and_pull(5);
    store.barrier();
    if (is_first) std::this_thread::sleep_for(std::chrono::seconds(2));  // others have its place then
    store.barrier();
    push_and_pull(3);
    if (is_first) proxy->refuse(false);
    push_and_pull(3);
    if (is_first) await_failure();
    store.barrier();
    if (is_first) rounds = round;
  });
  EXPECT_THAT(failures_, ElementsAre(AnyOf(HasSubstr("was given up"), HasSubstr("of the server is over"))));
  for (const kvstore::Key& key : keys) {
    std::vector<int> counts;
    for (const Momentum& program : programs_) counts.push_back(program.count(key));
    EXPECT_THAT(counts, testing::Contains(rounds)) << kvstore::to_string(key);
  }
}

}  // namespace
}  // namespace headrace::distributed
