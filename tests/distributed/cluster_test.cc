// Stores on servers: what workers push, and pull.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "distributed/commands.h"
#include "engine/runtime.h"
#include "headrace/sparse.hpp"
#include "ndarray/view.h"
#include "tests/distributed/cluster.h"

namespace headrace::distributed {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// What large arrays go through: memory that processes share, or messages.
class LargeArraysTest : public ClusterTest, public testing::WithParamInterface<bool> {
 protected:
  LargeArraysTest() { shares_memory_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(, LargeArraysTest, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "InMemory" : "InMessages"; });

TEST_F(ClusterTest, ABoundOfLargeArraysThatIsNoNumberIsRefused) {
  setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "many", 1);
  run(1, 1, false, [](kvstore::KVStore& store) {
    EXPECT_THAT(
        [&] { store.init("w", filled({4}, 0)); },
        testing::ThrowsMessage<Error>(HasSubstr("MXNET_KVSTORE_BIGARRAY_BOUND is a number of elements from 0")));
  });
  unsetenv("MXNET_KVSTORE_BIGARRAY_BOUND");
}

TEST_F(ClusterTest, WorkersSumWhatTheyPush) {
  run(3, 2, false, [](kvstore::KVStore& store) {
    store.init("w", filled({2, 3}, store.rank()));  // that of rank 0 counts
    EXPECT_THAT(pulled(store, "w", {2, 3}), Each(0));
    for (int round = 1; round <= 5; ++round) {
      store.push("w", {filled({2, 3}, round), filled({2, 3}, store.rank())});
      EXPECT_THAT(pulled(store, "w", {2, 3}), Each(3 * round + 3));
    }
    store.barrier();
  });
}

TEST_P(LargeArraysTest, LieOnAllServers) {
  run(2, 3, false, [](kvstore::KVStore& store) {
    const NDArray ramp = call("_arange", {}, {{"start", 0.0}, {"stop", 1'200'000.0}});
    store.init(int64_t{4}, ramp);
    store.push(int64_t{4}, {ramp});
    std::vector<float> expected = ramp.to_vector<float>();
    for (float& one : expected) one *= 2;
    EXPECT_EQ(pulled(store, int64_t{4}, ramp.shape()), expected);
  });
}

TEST_P(LargeArraysTest, KeepTheirValuesOnTheWay) {
  run(3, 2, false, [](kvstore::KVStore& store) {
    const Shape shape{300, 200};
    const std::vector<kvstore::Key> keys{"a", "b", "c"};
    for (const kvstore::Key& key : keys) store.init(key, filled(shape, 0));
    const NDArray gradient = filled(shape, 0), out = NDArray::empty(shape);
    for (int round = 1; round <= 5; ++round) {
      std::vector<NDArray> outs;
      for (const kvstore::Key& key : keys) {
        copy_into(gradient, filled(shape, round));  // while the last push may be on its way
        store.push(key, {gradient});
        outs.push_back(NDArray::empty(shape));
        store.pull(key, {outs.back(), out});
      }
      copy_into(gradient, filled(shape, -1));
      for (const NDArray& one : outs) EXPECT_THAT(one.to_vector<float>(), Each(3 * round));
      EXPECT_THAT(out.to_vector<float>(), Each(3 * round));
    }
  });
}

TEST_P(LargeArraysTest, AreUpdatedInTheServers) {
  run(2, 2, true, [](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({100, 100}, 10));
    for (int i = 0; i < 4; ++i) store.push("w", {filled({100, 100}, 1)});
    store.barrier();
    for (const float one : pulled(store, "w", {100, 100})) EXPECT_TRUE(one >= 2 && one <= 6);
    store.barrier();
    store.replace("w", filled({100, 100}, 3));
    EXPECT_THAT(pulled(store, "w", {100, 100}), Each(3));
  });
}

TEST_P(LargeArraysTest, ArePulledIntoPartsAndOtherDtypes) {
  run(1, 1, false, [](kvstore::KVStore& store) {
    store.init("w", filled({100, 100}, 7));
    const NDArray half = NDArray::empty({100, 100}, DType::kFloat16);
    const NDArray wide = filled({100, 200}, 1);
    const NDArray part = call("slice", {wide}, {{"begin", Shape{0, 50}}, {"end", Shape{100, 150}}});
    store.pull("w", {half, part});
    EXPECT_THAT(cast_to(half, DType::kFloat32).to_vector<float>(), Each(7));
    EXPECT_THAT(part.to_vector<float>(), Each(7));
  });
}

TEST_F(ClusterTest, RanksMayInitInAnyOrder) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    std::vector<kvstore::Key> keys{"a", "b", "c", "d"};
    if (store.rank() == 1) std::ranges::reverse(keys);
    for (const kvstore::Key& key : keys) store.init(key, filled({2}, static_cast<double>(kvstore::to_string(key)[1])));
    for (const kvstore::Key& key : keys)
      EXPECT_THAT(pulled(store, key, {2}), Each(static_cast<float>(kvstore::to_string(key)[1])));
  });
}

TEST_F(ClusterTest, RowsAreSummed) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    const auto rows = [](std::vector<int64_t> numbers, float value) {
      const std::vector<float> values(2 * numbers.size(), value);
      const auto count = static_cast<int64_t>(numbers.size());
      return sparse::row_sparse(NDArray::from(std::span<const float>(values), {count, 2}),
                                NDArray::from(std::span<const int64_t>(numbers), {count}), {6, 2});
    };
    store.init("e", rows({0, 1, 2, 3, 4, 5}, 0));
    store.push("e", {rows({1, 4 - store.rank()}, 1)});
    const NDArray out = sparse::zeros(StorageKind::kRowSparse, {6, 2});
    const std::vector<NDArray> ids{NDArray::from(std::span<const int64_t>(std::vector<int64_t>{4, 1, 4}), {3})};
    const kvstore::Item item{"e", {out}};
    store.row_sparse_pull({&item, 1}, {&ids, 1}, 0);
    EXPECT_THAT(sparse::indices_of(out).to_vector<int64_t>(), ElementsAre(1, 4));
    EXPECT_THAT(sparse::values_of(out).to_vector<float>(), ElementsAre(2, 2, 1, 1));
  });
}

TEST_F(ClusterTest, ServersUpdateWithTheSettingsOfTheRound) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({3}, 100));
    float expected = 100;
    for (int round = 1; round <= 6; ++round) {
      store.send_settings(std::to_string(round));
      store.push("w", {filled({3}, 1)});
      expected -= 2.0F * static_cast<float>(round);
      if (store.rank() == 0 || round % 2) {  // rank 1 runs ahead
        EXPECT_THAT(pulled(store, "w", {3}), Each(expected)) << store.rank();
      }
    }
    EXPECT_THAT(pulled(store, "w", {3}), Each(expected));
  });
  EXPECT_EQ(program_.commands, 2 + 2 * 3);  // each server: the command once; the settings that rounds of it used
}

// A push that waits for its values is not overtaken by one that was made with later settings.
TEST_F(ClusterTest, PushesKeepTheOrderOfTheirSettings) {
  run(1, 1, false, [](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    for (const char* key : {"late", "soon"}) store.init(key, filled({3}, 0));
    const NDArray late = filled({3}, 1);
    std::promise<void> release;
    Var* const written = &late.view()->storage()->var();
    runtime().engine.push(TaskSpec{.name = "late", .writes = {&written, 1}, .cost_ns = Engine::kInlineCostNs * 2},
                          [go_on = release.get_future().share(), late] { go_on.wait(); });
    store.send_settings("2");
    store.push("late", {late});
    store.send_settings("5");
    store.push("soon", {filled({3}, 1)});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    release.set_value();
    EXPECT_THAT(pulled(store, "late", {3}), Each(-2));
    EXPECT_THAT(pulled(store, "soon", {3}), Each(-5));
  });
}

TEST_F(ClusterTest, AnAsynchronousPushCountsAtOnce) {
  run(2, 1, true, [](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({3}, 10));
    if (store.rank() == 0) {
      store.push("w", {filled({3}, 1)});
      store.push("w", {filled({3}, 2)});
      EXPECT_THAT(pulled(store, "w", {3}), Each(7));
    }
    store.barrier();
    EXPECT_THAT(pulled(store, "w", {3}), Each(7));
  });
}

TEST_F(ClusterTest, AWorkerIsNoFurtherAheadThanTheStalenessAllows) {
  constexpr int kRounds = 6, kStaleness = 2;
  std::atomic<int> slow{0}, worst{0};
  run(2, 2, kvstore::Sharing{.asynchronous = true, .staleness = kStaleness}, [&](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({3}, 0));
    store.barrier();
    for (int round = 1; round <= kRounds; ++round) {
      if (store.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        slow = round;
      }
      store.push("w", {filled({3}, 1)});
      pulled(store, "w", {3});
      if (store.rank() == 0) worst = std::max<int>(worst, round - slow);
    }
    store.barrier();
    EXPECT_THAT(pulled(store, "w", {3}), Each(-2 * kRounds));
  });
  EXPECT_LE(worst, kStaleness);
}

TEST_F(ClusterTest, NobodyWaitsForAWorkerThatHasEnded) {
  run(2, 1, kvstore::Sharing{.asynchronous = true, .staleness = 1}, [&](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({3}, 0));
    store.barrier();
    if (store.rank() == 1) return;
    for (int round = 1; round <= 3; ++round) {
      store.push("w", {filled({3}, 1)});
      EXPECT_THAT(pulled(store, "w", {3}), Each(-round));
    }
  });
}

TEST_F(ClusterTest, ServersAnswerWhoAsksThem) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    EXPECT_EQ(store.servers(), 2);
    const std::vector<std::string> bodies{"a", "b"};
    for (int time = 0; time < 2; ++time)
      EXPECT_THAT(store.ask_servers(Descent::kAsk, bodies), ElementsAre("you said a", "you said b"));
    EXPECT_THAT([&] { store.ask_servers(Descent::kAsk, {}); }, testing::ThrowsMessage<Error>(HasSubstr("each of 2")));
    store.init("large", filled({2'000'000}, 0));
    const std::vector<kvstore::Share> shares = store.shares("large");
    ASSERT_EQ(shares.size(), 2);
    EXPECT_EQ(shares[1].begin, 1'000'000);
    EXPECT_THAT([&] { store.shares("x"); }, testing::ThrowsMessage<Error>(HasSubstr("has not been inited")));
    store.barrier();
  });
  EXPECT_EQ(program_.commands, 8);
}

// Heads of the commands are those of python/headrace/kvstore/remote.py.
TEST_F(ClusterTest, AFrozenServerServesWorker0Alone) {
  const std::vector<std::string> body(1);
  std::promise<void> frozen;
  run(2, 1, true, [&](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({3}, 10));
    store.barrier();
    if (store.rank() == 0) {
      const std::vector<std::string> served = store.ask_servers(kFreeze, body);
      EXPECT_THAT(served,
                  ElementsAre(testing::ContainsRegex("^\\{\"0\": \\[[0-9]+, 3\\], \"1\": \\[[0-9]+, 2\\]\\}$")));
      frozen.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_THAT(pulled(store, "w", {3}), Each(10));
      store.ask_servers(kThaw, body);
    } else {
      frozen.get_future().wait();
      store.push("w", {filled({3}, 1)});
      EXPECT_THAT(pulled(store, "w", {3}), Each(9));
      EXPECT_THAT([&] { store.ask_servers(kFreeze, body); },
                  testing::ThrowsMessage<Error>(HasSubstr("worker 0 saves checkpoints, but worker 1 asked")));
    }
    store.barrier();
    EXPECT_THAT(pulled(store, "w", {3}), Each(9));
  });
}

TEST_F(ClusterTest, AServerThawsWhenWorker0HasEnded) {
  run(2, 1, true, [](kvstore::KVStore& store) {
    store.send_command(1, "descend");
    store.init("w", filled({3}, 10));
    store.barrier();
    if (store.rank() == 0) {
      store.ask_servers(-4, std::vector<std::string>(1));
    } else {
      store.push("w", {filled({3}, 1)});
      EXPECT_THAT(pulled(store, "w", {3}), Each(9));
    }
  });
}

// What compression leaves out of the gradients of one worker for one key.
class Leftover {
 public:
  // What is sent of a gradient.
  std::vector<float> take(const std::vector<float>& gradient, float threshold) {
    left_.resize(gradient.size());
    std::vector<float> sent;
    for (size_t i = 0; i < gradient.size(); ++i) {
      left_[i] += gradient[i];
      sent.push_back(left_[i] >= threshold ? threshold : left_[i] <= -threshold ? -threshold : 0);
      left_[i] -= sent[i];
    }
    return sent;
  }

 private:
  std::vector<float> left_;
};

TEST_F(ClusterTest, CompressionIsThatOfEachWorkerAndKey) {
  constexpr int kRounds = 5, kWorkers = 3, kKeys = 2;
  constexpr float kThreshold = 0.5F;
  const Shape shape{7, 11};
  const auto gradient = [](int rank, int key, int round) {
    std::vector<float> values;
    for (int i = 0; i < 77; ++i)
      values.push_back(static_cast<float>((rank * 31 + key * 17 + round * 7 + i * 3) % 13 - 6) / 8);
    return values;
  };
  Leftover leftovers[kKeys][kWorkers];
  std::vector<float> expected[kKeys][kRounds];
  for (int key = 0; key < kKeys; ++key)
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float>& sum = expected[key][round];
      sum.resize(77);
      for (int rank = 0; rank < kWorkers; ++rank) {
        const std::vector<float> sent = leftovers[key][rank].take(gradient(rank, key, round), kThreshold);
        std::ranges::transform(sum, sent, sum.begin(), std::plus<>());
      }
    }
  run(kWorkers, 2, false, [&](kvstore::KVStore& store) {
    store.set_gradient_compression({.threshold = kThreshold});
    for (int key = 0; key < kKeys; ++key) store.init(int64_t{key}, filled(shape, 0));
    for (int round = 0; round < kRounds; ++round)
      for (int key = 0; key < kKeys; ++key) {
        const std::vector<float> values = gradient(store.rank(), key, round);
        store.push(int64_t{key}, {NDArray::from(std::span<const float>(values), shape)});
        EXPECT_EQ(pulled(store, int64_t{key}, shape), expected[key][round]);
      }
  });
}

TEST_F(ClusterTest, AsynchronousServersMustUpdate) {
  run(1, 1, true, [](kvstore::KVStore& store) {
    store.init("w", filled({3}, 10));
    store.push("w", {filled({3}, 1)});
    EXPECT_THAT([&] { pulled(store, "w", {3}); },
                testing::ThrowsMessage<Error>(HasSubstr("call set_optimizer before the first push")));
  });
}

TEST_F(ClusterTest, CompressionKeepsWhatItLeavesOut) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    store.set_gradient_compression({.threshold = 0.5});
    store.init("w", filled({40, 50, 600}, 0));  // on both servers
    store.push("w", {filled({40, 50, 600}, 0.3)});
    EXPECT_THAT(pulled(store, "w", {40, 50, 600}), Each(0));
    store.push("w", {filled({40, 50, 600}, 0.3)});
    EXPECT_THAT(pulled(store, "w", {40, 50, 600}), Each(1));  // 0.5 of each
  });
}

TEST_F(ClusterTest, ArraysOfAnySizeAreCompressed) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    EXPECT_THAT([&] { store.set_gradient_compression({.threshold = 1e-50}); },  // 0 as float32
                testing::ThrowsMessage<Error>(HasSubstr("threshold must be greater than 0")));
    store.set_gradient_compression({.threshold = 0.5});
    for (const int64_t size : {1, 3, 17, 1'000'003}) {
      store.init(size, filled({size}, 0));
      store.push(size, {filled({size}, 0.6)});
      EXPECT_THAT(pulled(store, size, {size}), Each(1)) << size;
    }
  });
}

TEST_F(ClusterTest, CallsWithoutKeysDoNothing) {
  run(2, 1, false, [](kvstore::KVStore& store) {
    const std::span<const kvstore::Item> none;
    store.init(none);
    if (store.rank() == 0) store.replace(none);  // nobody is waited for
    store.push(none, 0);
    store.pull(none, 0);
    store.pushpull(none, none, 0);
    store.row_sparse_pull(none, {}, 0);
    store.init("w", filled({3}, 1));
    EXPECT_THAT(pulled(store, "w", {3}), Each(1));
  });
}

TEST_F(ClusterTest, DifferentShapesAreAnError) {
  std::atomic<int> errors{0};
  run(2, 1, false, [&](kvstore::KVStore& store) {
    try {
      store.init("w", filled({2 + store.rank()}, 0));
    } catch (const Error& error) {
      ++errors;
      EXPECT_THAT(error.what(), HasSubstr("all ranks init a key alike"));
      EXPECT_THAT(error.what(), HasSubstr("worker 0: float32 (2,)"));
      EXPECT_THAT(error.what(), HasSubstr("worker 1: float32 (3,)"));
    }
  });
  EXPECT_GE(errors, 1);  // who was first may have left
}

// Whoever was first: worker 0 sees it at the latest in a pull of what both push.
TEST_F(ClusterTest, DifferentStorageTypesAreAnErrorOfBoth) {
  std::atomic<int> errors{0};
  run(2, 1, false, [&](kvstore::KVStore& store) {
    try {
      store.init("w", store.rank() == 0 ? filled({3, 2}, 0) : sparse::zeros(StorageKind::kRowSparse, {3, 2}));
      store.push("w", {filled({3, 2}, 1)});
      pulled(store, "w", {3, 2});
    } catch (const Error& error) {
      ++errors;
      EXPECT_THAT(error.what(), HasSubstr("worker 0: float32 (3, 2)"));
      EXPECT_THAT(error.what(), HasSubstr("worker 1: row_sparse float32 (3, 2)"));
    }
  });
  EXPECT_EQ(errors, 2);
}

// An array whose values a failed operation was to write.
NDArray failed(const Shape& shape) {
  const NDArray array = NDArray::empty(shape);
  Var* const written = &array.view()->storage()->var();
  runtime().engine.push(TaskSpec{.name = "fail", .writes = {&written, 1}, .cost_ns = Engine::kInlineCostNs},
                        [array] { throw Error(ErrorKind::kValue, "a gradient went wrong"); });
  return array;
}

TEST_F(ClusterTest, AGradientThatCouldNotBeComputedIsAnErrorOfAllWhoWaitForItsSum) {
  const auto is_told = testing::ThrowsMessage<Error>(
      HasSubstr("kvstore push: key 'w': worker 1 could not compute what it pushed: a gradient went wrong"));
  run(2, 2, false, [&](kvstore::KVStore& store) {
    store.init("w", filled({2}, 0));
    store.init("v", filled({2}, 0));
    store.push("w", {store.rank() == 1 ? failed({2}) : filled({2}, 1)});
    if (store.rank() == 0)
      EXPECT_THAT([&] { pulled(store, "w", {2}); }, is_told);
    else
      EXPECT_THAT([&] { pulled(store, "w", {2}); }, testing::ThrowsMessage<Error>(HasSubstr("a gradient went wrong")));
    store.barrier();
    store.push("w", {filled({2}, 1)});
    EXPECT_THAT([&] { pulled(store, "w", {2}); }, is_told);
    store.push("v", {filled({2}, 1)});
    EXPECT_THAT(pulled(store, "v", {2}), Each(2));
  });
}

TEST_F(ClusterTest, RowsThatCouldNotBeComputedAreAnErrorOfAllWhoWaitForTheirSum) {
  run(2, 1, false, [&](kvstore::KVStore& store) {
    store.init("w", sparse::zeros(StorageKind::kRowSparse, {3, 2}));
    const NDArray values = store.rank() == 1 ? failed({1, 2}) : filled({1, 2}, 1);
    const NDArray rows =
        sparse::row_sparse(values, call("_arange", {}, {{"stop", 1.0}, {"dtype", DType::kInt64}}), {3, 2});
    const auto train = [&] {
      store.push("w", {rows});
      pulled(store, "w", {3, 2});
    };
    EXPECT_THAT(train, testing::ThrowsMessage<Error>(HasSubstr("a gradient went wrong")));
  });
}

TEST_F(ClusterTest, AnAsynchronousPushThatCouldNotBeComputedChangesNothing) {
  run(2, 1, kvstore::Sharing{.asynchronous = true, .staleness = 1}, [&](kvstore::KVStore& store) {
    store.send_command(0, "optimizer");
    store.init("w", filled({2}, 5));
    for (int round = 0; round < 3; ++round) {
      store.push("w", {store.rank() == 1 && round < 2 ? failed({2}) : filled({2}, 1)});
    }
    EXPECT_THAT(pulled(store, "w", {2}), Each(testing::AllOf(testing::Ge(1), testing::Le(4))));
    store.barrier();
    EXPECT_THAT(pulled(store, "w", {2}), Each(1));
  });
}

TEST_F(ClusterTest, WhatAServerRaisesReachesTheWorker) {
  run(1, 2, false, [](kvstore::KVStore& store) {
    EXPECT_THAT([&] { store.send_command(1, "fail"); },
                testing::ThrowsMessage<Error>(HasSubstr("the server was told to fail")));
    store.init("w", filled({2}, 1));
    EXPECT_THAT(pulled(store, "w", {2}), Each(1));
  });
}

TEST_F(ClusterTest, WhoWaitsForAWorkerThatHasEndedIsTold) {
  run(3, 1, false, [](kvstore::KVStore& store) {
    store.init("w", filled({2}, 1));
    if (store.rank() == 1) return;
    store.push("w", {filled({2}, 1)});
    EXPECT_THAT([&] { pulled(store, "w", {2}); },
                testing::ThrowsMessage<Error>(HasSubstr("key 'w': worker 1 has ended before it pushed to round 0")));
    EXPECT_THAT([&] { store.barrier(); }, testing::ThrowsMessage<Error>(HasSubstr("has ended")));
  });
}

TEST_F(ClusterTest, WhatIsReplacedIsReplacedEverywhere) {
  run(2, 2, false, [](kvstore::KVStore& store) {
    store.init("w", filled({2}, 1));
    store.replace("w", filled({2}, 5 + store.rank()));
    EXPECT_THAT(pulled(store, "w", {2}), Each(5));
  });
}

TEST_F(ClusterTest, OptimizersThatNeedWholeArraysGetThem) {
  run(1, 2, false, [](kvstore::KVStore& store) {
    store.keep_whole();
    store.init("w", filled({2'000'000}, 1));
    EXPECT_THAT(pulled(store, "w", {2'000'000}), Each(1));
  });
  run(1, 2, false, [](kvstore::KVStore& store) {
    store.init("w", filled({2'000'000}, 1));
    EXPECT_THAT([&] { store.keep_whole(); }, testing::ThrowsMessage<Error>(HasSubstr("lies on 2 servers already")));
  });
}

TEST_F(ClusterTest, WorkersWithLessDataTakePartInTheRoundsOfOthers) {
  constexpr int kWorkers = 3, kEpochs = 10;
  run(kWorkers, 2, false, [](kvstore::KVStore& store) {
    const std::vector<kvstore::Key> keys{"a", "b", "c"};
    for (const kvstore::Key& key : keys) store.init(key, filled({2}, 0));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const int own = (store.rank() + epoch) % kWorkers;
      int made = 0;
      const auto step = [&](float value) {
        for (const kvstore::Key& key : keys) store.push(key, {filled({2}, value)});
        ++made;
      };
      for (int i = 0; i < own; ++i) step(1);
      while (store.others_go_on(keys[1])) step(0);
      EXPECT_EQ(made, kWorkers - 1);
      for (const kvstore::Key& key : keys) EXPECT_THAT(pulled(store, key, {2}), Each(1));  // of the one with the most
    }
    store.barrier();
  });
}

TEST_F(ClusterTest, WhoHasJoinedIsToldWhoHasEnded) {
  run(2, 1, false, [](kvstore::KVStore& store) {
    store.init("w", filled({2}, 0));
    if (store.rank() == 1) return;
    EXPECT_THAT([&] { store.others_go_on("w"); },
                ThrowsMessage<Error>(HasSubstr("key 'w': worker 1 has ended before it joined")));
    EXPECT_THAT([&] { store.others_go_on("v"); }, ThrowsMessage<Error>(HasSubstr("key 'v' has not been inited")));
  });
}

TEST_F(ClusterTest, NobodyTakesPartInAsynchronousPushes) {
  run(2, 1, true, [](kvstore::KVStore& store) {
    store.init("w", filled({2}, 0));
    EXPECT_FALSE(store.others_go_on("w"));
  });
}

}  // namespace
}  // namespace headrace::distributed
