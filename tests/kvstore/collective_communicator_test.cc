// Stores whose ranks, threads here, sum among themselves.
#include "kvstore/collective_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "headrace/sparse.hpp"
#include "tests/kvstore/values.h"
#include "tests/support/arrays.h"
#include "tests/support/memory_wire.h"

namespace headrace::kvstore {
namespace {

using collective::Group;
using collective::on_groups;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Floats = std::vector<float>;

constexpr int kStoreRanks = 3;

void on_stores(int ranks, const std::function<void(KVStore& store)>& body) {
  on_groups(ranks, [&](Group& group) {
    const auto store = make_store("mpi", make_collective_communicator(group, make_device_communicator()));
    body(*store);
  });
}

NDArray filled(const Shape& shape, double value) { return full(shape, value, DType::kFloat32, {}); }

TEST(CollectiveStore, SaysWhatItIs) {
  on_stores(kStoreRanks, [](KVStore& store) {
    EXPECT_EQ(store.num_workers(), kStoreRanks);
    EXPECT_TRUE(store.is_capable(Capability::kOptimizer));
    EXPECT_TRUE(store.is_capable(Capability::kDistributed));
    EXPECT_FALSE(store.is_capable(Capability::kAsynchronous));
    EXPECT_FALSE(store.has_servers());
  });
}

TEST(CollectiveStore, SumsWhatAllPush) {
  on_stores(kStoreRanks, [](KVStore& store) {
    const auto own = static_cast<double>(store.rank() + 1);
    store.init("w", filled({2, 3}, own));
    EXPECT_THAT(pulled(store, "w", {2, 3}), Each(1));  // what rank 0 has
    store.push("w", {filled({2, 3}, own), filled({2, 3}, 1)});
    EXPECT_THAT(pulled(store, "w", {2, 3}), Each(9));
    const NDArray value = filled({2, 3}, own), out = filled({2, 3}, -1);
    store.pushpull("w", {value}, {out});
    EXPECT_THAT(out.to_vector<float>(), Each(6));
    EXPECT_THAT(value.to_vector<float>(), Each(own));
    EXPECT_THAT(pulled(store, "w", {2, 3}), Each(6));
    store.pushpull("w", {value}, {value});
    EXPECT_THAT(value.to_vector<float>(), Each(6));
    store.replace("w", filled({2, 3}, own + 4));
    EXPECT_THAT(pulled(store, "w", {2, 3}), Each(5));
  });
}

TEST(CollectiveStore, KeysComeInAnyOrder) {
  on_stores(kStoreRanks, [](KVStore& store) {
    constexpr int kKeys = 8;
    const auto place = [&](int i) { return int64_t{(i * (2 * store.rank() + 1) + store.rank()) % kKeys}; };
    for (int i = 0; i < kKeys; ++i) store.init(place(i), filled({4}, 0));
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < kKeys; ++i) store.push(place(i), {filled({4}, static_cast<double>(place(i)) * round)});
      for (int64_t key = 0; key < kKeys; ++key) EXPECT_THAT(pulled(store, key, 4), Each(kStoreRanks * key * round));
    }
  });
}

TEST(CollectiveStore, OtherReductionsCountAllValues) {
  on_stores(kStoreRanks, [](KVStore& store) {
    const auto own = static_cast<double>(store.rank() + 1);
    store.init("w", filled({1}, 0));
    const std::vector<NDArray> values(static_cast<size_t>(store.rank() + 1), filled({1}, own));
    const auto reduced = [&] {
      store.push("w", values);
      return pulled(store, "w", 1)[0];
    };
    store.set_reduction("mean");
    EXPECT_FLOAT_EQ(reduced(), 14.0F / 6);
    store.set_reduction("max");
    EXPECT_EQ(reduced(), 3);
    store.set_reduction([](const NDArray& a, const NDArray& b) { return call("elemwise_mul", {a, b}); });
    EXPECT_EQ(reduced(), 1 * 4 * 27);
  });
}

TEST(CollectiveStore, UpdatesAlike) {
  on_stores(kStoreRanks, [](KVStore& store) {
    store.init("w", filled({5}, 100));
    store.set_updater([](std::span<const Update> updates) {
      for (const Update& one : updates) copy_into(one.stored, call("elemwise_sub", {one.stored, one.reduced}));
    });
    const NDArray out = filled({5}, 0);
    for (int step = 0; step < 3; ++step) store.pushpull("w", {filled({5}, static_cast<double>(store.rank()))}, {out});
    EXPECT_THAT(out.to_vector<float>(), Each(100 - 3 * 3));
  });
}

TEST(CollectiveStore, SumsRows) {
  on_stores(kStoreRanks, [](KVStore& store) {
    const auto rows = [](const std::vector<int64_t>& numbers, float value) {
      const Floats values(2 * numbers.size(), value);
      const auto count = static_cast<int64_t>(numbers.size());
      return sparse::row_sparse(NDArray::from(std::span<const float>(values), {count, 2}),
                                NDArray::from(std::span<const int64_t>(numbers), {count}), {6, 2});
    };
    store.init("e", rows({0, 5}, static_cast<float>(store.rank() + 7)));
    const NDArray out = sparse::zeros(StorageKind::kRowSparse, {6, 2});
    store.pull("e", {out});
    EXPECT_THAT(sparse::values_of(out).to_vector<float>(), Each(7));
    const NDArray own = store.rank() == 2 ? sparse::zeros(StorageKind::kRowSparse, {6, 2})
                                          : rows({1, 4 - store.rank()}, static_cast<float>(store.rank() + 1));
    store.push("e", {own});
    store.pull("e", {out});
    EXPECT_THAT(sparse::indices_of(out).to_vector<int64_t>(), ElementsAre(1, 3, 4));
    EXPECT_THAT(sparse::values_of(out).to_vector<float>(), ElementsAre(3, 3, 2, 2, 1, 1));
  });
}

TEST(CollectiveStore, AgreesOnFlags) {
  on_stores(kStoreRanks, [](KVStore& store) {
    std::vector<uint8_t> flags(4, 0);
    flags[static_cast<size_t>(store.rank())] = 1;
    store.agree(flags);
    EXPECT_THAT(flags, ElementsAre(1, 1, 1, 0));
  });
}

TEST(CollectiveStore, WhatIsStatedHasToBeTheSameOnAllRanks) {
  on_stores(kStoreRanks, [](KVStore& store) {
    store.agree_in("a step");
    store.agree_in("another step");
    store.barrier();
    const auto go_on = [&] {
      store.agree_in(store.rank() == 1 ? "a short step" : "a long step");
      store.barrier();
    };
    EXPECT_THAT(go_on, ThrowsMessage<Error>(HasSubstr("rank 0 calls a long step, but rank 1 calls a short step")));
  });
}

TEST(CollectiveStore, AnotherShapeIsAnErrorOnAllRanks) {
  on_stores(kStoreRanks, [](KVStore& store) {
    const auto init = [&] {
      store.init("w", filled({2 + store.rank() / 2}, 1));
      pulled(store, "w", Shape{2 + store.rank() / 2});
    };
    EXPECT_THAT(init, ThrowsMessage<Error>(testing::AllOf(HasSubstr("init of key 'w'"), HasSubstr("shape (2,)"),
                                                          HasSubstr("shape (3,)"))));
  });
}

// Gradients that are ready in another order on each rank, after delays, have one sum in all runs.
TEST(CollectiveStore, BitsDoNotDependOnWhoIsFirst) {
  constexpr int kKeys = 6, kRuns = 5;
  const Shape shape{3000};
  std::vector<std::string> first(kKeys);
  for (int run = 0; run < kRuns; ++run) {
    std::mutex mutex;
    on_stores(kStoreRanks, [&](KVStore& store) {
      std::mt19937 random(static_cast<uint32_t>(100 * run + store.rank()));
      std::vector<int> order(kKeys);
      std::iota(order.begin(), order.end(), 0);
      for (int key = 0; key < kKeys; ++key) store.init(int64_t{key}, filled(shape, 0));
      std::ranges::shuffle(order, random);
      for (const int key : order) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        store.push(int64_t{key}, {varied(shape, DType::kFloat32, static_cast<uint64_t>(10 * key + store.rank()))});
      }
      for (int key = 0; key < kKeys; ++key) {
        const NDArray out = NDArray::empty(shape);
        store.pull(int64_t{key}, {out});
        std::string bits = headrace::bytes_of(out);
        std::lock_guard guard(mutex);
        std::string& known = first[static_cast<size_t>(key)];
        if (known.empty())
          known = std::move(bits);
        else
          EXPECT_EQ(bits, known);
      }
    });
  }
}

}  // namespace
}  // namespace headrace::kvstore
