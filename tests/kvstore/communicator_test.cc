// Stores over communicators of several ranks, which are threads here.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "tests/kvstore/values.h"
#include "tests/support/arrays.h"
#include "tests/support/team.h"

namespace headrace::kvstore {
namespace {

using Floats = std::vector<float>;
using StorePtr = std::unique_ptr<KVStore>;

constexpr int kTeamRanks = 3;

using MakeDevices = std::function<std::unique_ptr<Communicator>()>;

// Every way in which the devices of a rank reduce.
std::vector<MakeDevices> all_devices() {
  return {make_host_communicator, [] { return make_device_communicator(); },
          [] { return make_device_communicator({.strategy = "ring"}); }};
}

// Calls `body(store, rank)` on each of several ranks, for every way in which their devices reduce.
template <class F>
void on_ranks(F&& body, int ranks = kTeamRanks) {
  for (const MakeDevices& make_devices : all_devices()) {
    Team team(ranks);
    team.run([&](int rank) {
      const StorePtr store = make_store("team", std::make_unique<TeamCommunicator>(team, rank, make_devices()));
      body(*store, rank);
    });
  }
}

TEST(StoreOfSeveralRanks, SaysWhatItIs) {
  on_ranks([](KVStore& store, int rank) {
    EXPECT_EQ(store.type(), "team");
    EXPECT_EQ(store.rank(), rank);
    EXPECT_EQ(store.num_workers(), kTeamRanks);
    EXPECT_TRUE(store.is_capable(Capability::kOptimizer));
    EXPECT_FALSE(store.is_capable(Capability::kAsynchronous));
    EXPECT_TRUE(store.is_capable(Capability::kDistributed));
  });
  on_ranks([](KVStore& store, int) { EXPECT_FALSE(store.is_capable(Capability::kDistributed)); }, 1);
}

TEST(StoreOfSeveralRanks, InitTakesWhatRankZeroHas) {
  on_ranks([](KVStore& store, int rank) {
    const float own = static_cast<float>(rank);
    const NDArray value = on(1, {own + 7, own}), out = on(0, {-1, -1});
    store.init("w", value);
    EXPECT_EQ(pulled(store, "w", 2), (Floats{7, 0}));
    EXPECT_EQ(value.to_vector<float>(), (Floats{own + 7, own}));
    store.broadcast("v", on(0, {own}), {on(0, {-1})});
    EXPECT_EQ(pulled(store, "v", 1), Floats{0});
    store.replace("w", on(1, {own, own + 5}));
    EXPECT_EQ(pulled(store, "w", 2), (Floats{0, 5}));
  });
}

TEST(StoreOfSeveralRanks, SumsWhatAllPush) {
  on_ranks([](KVStore& store, int rank) {
    const float own = static_cast<float>(rank + 1);
    store.init("w", on(0, {0, 0}));
    store.push("w", {on(0, {own, 1}), on(1, {10 * own, 1})});
    EXPECT_EQ(pulled(store, "w", 2), (Floats{66, 6}));
    const std::vector<NDArray> values{on(0, {own, 2}), on(1, {100 * own, 2})}, elsewhere{on(3, {0, 0})};
    store.pushpull("w", values, values);
    for (const NDArray& value : values) EXPECT_EQ(value.to_vector<float>(), (Floats{606, 12}));
    store.pushpull("w", {on(0, {own, 3})}, elsewhere);
    EXPECT_EQ(elsewhere[0].to_vector<float>(), (Floats{6, 9}));
    EXPECT_EQ(pulled(store, "w", 2), (Floats{6, 9}));
  });
}

// A store of one process that is given the arrays of the ranks in their order has the same bits.
TEST(StoreOfSeveralRanks, SumsInTheOrderOfRanks) {
  const Shape shape{3000};
  const auto value_of = [&](int rank) { return varied(shape, DType::kFloat32, 40 + static_cast<uint64_t>(rank)); };
  const StorePtr reference = create("local");
  reference->init(0, value_of(0));
  std::vector<NDArray> all;
  for (int rank = 0; rank < kTeamRanks; ++rank) all.push_back(value_of(rank));
  reference->push(0, all);
  const NDArray expected = NDArray::empty(shape);
  reference->pull(0, {expected});
  on_ranks([&, bits = headrace::bytes_of(expected)](KVStore& store, int rank) {
    store.init(0, value_of(0));
    for (int round = 0; round < 3; ++round) {
      const NDArray out = NDArray::empty(shape);
      store.pushpull(0, {value_of(rank)}, {out});
      EXPECT_EQ(headrace::bytes_of(out), bits);
    }
  });
}

TEST(StoreOfSeveralRanks, OtherReductionsCountAllValues) {
  on_ranks([](KVStore& store, int rank) {
    const float own = static_cast<float>(rank + 1);
    store.init("w", on(0, {0}));
    const auto reduced = [&](const std::vector<NDArray>& values) {
      const NDArray out = NDArray::empty({1});
      store.pushpull("w", values, {out});
      store.push("w", values);
      EXPECT_EQ(pulled(store, "w", 1), out.to_vector<float>());
      return static_cast<float>(out.item());
    };
    // Of 1; 2, 2; 3, 3, 3: ranks may push different numbers of arrays.
    const std::vector<NDArray> values(static_cast<size_t>(rank + 1), on(0, {own}));
    store.set_reduction("mean");
    EXPECT_FLOAT_EQ(reduced(values), 14.0F / 6);
    store.set_reduction("max");
    EXPECT_EQ(reduced(values), 3);
    store.set_reduction("min");
    EXPECT_EQ(reduced(values), 1);
    store.set_reduction([](const NDArray& a, const NDArray& b) { return call("elemwise_mul", {a, b}); });
    EXPECT_EQ(reduced(values), 1 * 4 * 27);
  });
}

TEST(StoreOfSeveralRanks, UpdatesAlike) {
  on_ranks([](KVStore& store, int rank) {
    store.init("a", on(0, {100}));
    EXPECT_FALSE(store.updater());
    store.set_updater([](std::span<const Update> updates) {
      for (const Update& update : updates) copyto(call("elemwise_sub", {update.stored, update.reduced}), update.stored);
    });
    EXPECT_TRUE(store.updater());
    const NDArray out = on(1, {0});
    for (int step = 0; step < 3; ++step) store.pushpull("a", {on(0, {static_cast<float>(rank)}), on(1, {1})}, {out});
    EXPECT_EQ(out.to_vector<float>(), Floats{100 - 3 * 6});
  });
}

TEST(StoreOfSeveralRanks, SmallArraysOfACallShareAnExchange) {
  constexpr int64_t kLarge = 1 << 18;
  Team team(2);
  team.run([&](int rank) {
    const auto store = make_store("team", std::make_unique<TeamCommunicator>(team, rank, make_host_communicator()));
    std::vector<Item> items;
    for (int64_t key = 0; key < 6; ++key) {
      items.push_back(
          {key, {NDArray::empty({key == 3 ? kLarge : 1 + key}), NDArray::empty({key == 3 ? kLarge : 1 + key})}});
      store->init(key, full(items.back().arrays[0].shape(), 0, DType::kFloat32, {}));
    }
    const auto fill = [&] {
      for (size_t i = 0; i < items.size(); ++i)
        for (const NDArray& one : items[i].arrays)
          copyto(full(one.shape(), static_cast<double>(i + 1), DType::kFloat32, {}), one);
    };
    const auto exchanges_of = [&](const std::function<void()>& exchange) {
      fill();
      team.meet();
      const int before = team.exchanges();
      exchange();
      team.meet();
      for (size_t i = 0; i < items.size(); ++i)
        EXPECT_EQ(items[i].arrays[1].to_vector<float>(),
                  Floats(static_cast<size_t>(items[i].arrays[1].size()), 4 * static_cast<float>(i + 1)));
      return team.exchanges() - before;
    };
    EXPECT_EQ(exchanges_of([&] { store->pushpull(items, items, 0); }), 3);  // before the large one, it, after it
    const auto push_and_pull = [&] {
      store->push(items, 0);
      store->pull(items, 0);
    };
    EXPECT_EQ(exchanges_of(push_and_pull), 3);
    store->set_updater([](std::span<const Update> updates) {
      for (const Update& update : updates) copyto(update.reduced, update.stored);
    });
    EXPECT_EQ(exchanges_of([&] { store->pushpull(items, items, 0); }), 3);
  });
}

TEST(StoreOfSeveralRanks, ReducesInTheDtypeOfTheKey) {
  on_ranks([](KVStore& store, int) {
    store.init("w", on(0, {0}));
    store.push("w", {cast_to(on(0, {1023}), DType::kFloat16)});  // one array here, several in all
    EXPECT_EQ(pulled(store, "w", 1), Floats{3 * 1023});          // which float16 does not have
  });
}

TEST(StoreOfSeveralRanks, CompressesOnEachRank) {
  Team team(2);
  team.run([&](int rank) {
    const auto store = make_store("team", std::make_unique<TeamCommunicator>(team, rank, make_device_communicator()));
    EXPECT_TRUE(store->is_capable(Capability::kCompression));
    store->set_gradient_compression({.threshold = 1});
    store->init("w", on(0, {0, 0}));
    store->push("w", {on(0, {0.75F, static_cast<float>(rank)})});
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{0, 1}));
    store->push("w", {on(0, {0.75F, 0})});  // what each rank has left over counts there
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{2, 0}));
  });
}

TEST(StoreOfSeveralRanks, ABarrierHoldsAllBack) {
  std::atomic<int> arrived = 0;
  Team team(kTeamRanks);
  team.run([&](int rank) {
    const auto store = make_store("team", std::make_unique<TeamCommunicator>(team, rank, make_host_communicator()));
    for (int round = 1; round <= 50; ++round) {
      ++arrived;
      store->barrier();
      EXPECT_EQ(arrived, kTeamRanks * round);
      store->barrier();
    }
  });
}

TEST(StoreOfSeveralRanks, AnErrorOfOneIsEverybodys) {
  on_ranks([](KVStore& store, int rank) {
    store.init("w", on(0, {0}));
    NDArray value = on(0, {1});
    if (rank == 1) value = call("take", {value, array({9})}, {{"mode", std::string("raise")}});
    const NDArray out = on(0, {0});
    store.pushpull("w", {value}, {out});
    EXPECT_EQ(kind_of([&] { out.wait_to_read(); }), ErrorKind::kIndex);
    store.pushpull("w", {on(0, {1})}, {out});
    EXPECT_EQ(out.to_vector<float>(), Floats{kTeamRanks});
  });
}

TEST(Communicators, AreNeeded) {
  EXPECT_EQ(kind_of([] { make_store("own", nullptr); }), ErrorKind::kValue);
  Team team(1);
  EXPECT_EQ(kind_of([&] { TeamCommunicator(team, 0, nullptr); }), ErrorKind::kValue);
}

TEST(Communicators, OfOneProcessAreRankZeroOfOne) {
  for (const MakeDevices& make : all_devices()) {
    const std::unique_ptr<Communicator> made = make();
    EXPECT_EQ(made->rank(), 0);
    EXPECT_EQ(made->size(), 1);
    made->barrier();
    const NDArray value = array({3});
    made->broadcast_root(value);
    EXPECT_EQ(value.to_vector<float>(), Floats{3});
  }
}

TEST(Reductions, WithoutTheirDivision) {
  EXPECT_EQ(Reduction("mean").undivided().name(), "sum");
  EXPECT_FALSE(Reduction("mean").undivided().divides());
  for (const char* name : {"sum", "max", "min"}) EXPECT_EQ(Reduction(name).undivided().name(), name);
  const Reduction own([](const NDArray& a, const NDArray&) { return a; });
  EXPECT_EQ(own.undivided().name(), "custom");
}

TEST(CopyTo, WritesIntoAnArray) {
  const NDArray target = cast_to(array({0, 0}), DType::kInt32);
  copyto(array({1, 2}), target);
  EXPECT_EQ(target.to_vector<int32_t>(), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(kind_of([&] { copyto(array({1}), target); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([&] { copyto(NDArray(), target); }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { copyto(target, NDArray()); }), ErrorKind::kType);
}

}  // namespace
}  // namespace headrace::kvstore
