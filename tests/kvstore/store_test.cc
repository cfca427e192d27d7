#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "headrace/kvstore.hpp"
#include "kvstore/strategies.h"
#include "tests/kvstore/cpu_topologies.h"
#include "tests/kvstore/values.h"
#include "tests/support/arrays.h"

namespace headrace::kvstore {
namespace {

using Floats = std::vector<float>;
using StorePtr = std::unique_ptr<KVStore>;

// Every way in which the stores of one machine reduce.
std::vector<StorePtr> all_stores() {
  std::vector<StorePtr> stores;
  stores.push_back(create("local"));
  stores.push_back(create("device"));
  for (const Strategy& strategy : strategies())
    stores.push_back(create("device", {.strategy = std::string(strategy.name)}));
  return stores;
}

TEST(Store, ReducesAndKeeps) {
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, {5, 6, 7}));
    EXPECT_EQ(pulled(*store, "w", 3), (Floats{5, 6, 7}));
    const std::vector<NDArray> values{on(0, {1, 2, 3}), on(1, {10, 20, 30}), on(2, {100, 200, 300})};
    store->push("w", values);
    EXPECT_EQ(pulled(*store, "w", 3), (Floats{111, 222, 333}));
    EXPECT_EQ(values[0].to_vector<float>(), (Floats{1, 2, 3}));
    EXPECT_EQ(values[2].to_vector<float>(), (Floats{100, 200, 300}));
    const std::vector<NDArray> outs{on(1, {0, 0, 0}), on(3, {0, 0, 0}), on(1, {0, 0, 0})};
    store->pull("w", outs);
    for (const NDArray& out : outs) EXPECT_EQ(out.to_vector<float>(), (Floats{111, 222, 333}));
  }
}

TEST(Store, PushesAndPullsAtOnce) {
  for (const StorePtr& store : all_stores()) {
    store->init(3, on(0, {0, 0}));
    const std::vector<NDArray> values{on(0, {1, 2}), on(1, {3, 4}), on(1, {5, 6}), on(4, {7, 8})};
    const std::vector<NDArray> outs{on(4, {0, 0}), on(0, {0, 0}), on(1, {0, 0})}, elsewhere{on(6, {0, 0})};
    store->pushpull(3, values, outs);
    for (const NDArray& out : outs) EXPECT_EQ(out.to_vector<float>(), (Floats{16, 20}));
    EXPECT_EQ(values[1].to_vector<float>(), (Floats{3, 4}));
    EXPECT_EQ(pulled(*store, 3, 2), (Floats{16, 20}));
    store->pushpull(3, values, elsewhere);
    EXPECT_EQ(elsewhere[0].to_vector<float>(), (Floats{16, 20}));
    store->pushpull(3, values, {values[2], values[3], values[0], values[1]});  // in place, in another order
    for (const NDArray& value : values) EXPECT_EQ(value.to_vector<float>(), (Floats{16, 20}));
    EXPECT_EQ(pulled(*store, 3, 2), (Floats{16, 20}));
  }
}

TEST(Store, KeepsWhatIsStoredWhenAFunctionThrows) {
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, {7}));
    store->set_reduction([](const NDArray&, const NDArray&) -> NDArray { throw std::runtime_error("mine"); });
    EXPECT_THROW(store->push("w", {on(0, {1}), on(0, {2})}), std::runtime_error);
    EXPECT_EQ(pulled(*store, "w", 1), (Floats{7}));
  }
}

TEST(Store, TakesOtherReductions) {
  const auto sum = [](const NDArray& a, const NDArray& b) { return call("elemwise_add", {a, b}); };
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, {0, 0}));
    const auto reduced = [&] {
      const std::vector<NDArray> values{on(0, {1, -4}), on(1, {3, -8}), on(2, {5, 0})};
      store->pushpull("w", values, values);
      EXPECT_EQ(values[0].to_vector<float>(), values[2].to_vector<float>());
      store->push("w", {on(0, {1, -4}), on(1, {3, -8}), on(2, {5, 0})});
      EXPECT_EQ(pulled(*store, "w", 2), values[1].to_vector<float>());
      return values[1].to_vector<float>();
    };
    store->set_reduction("mean");
    EXPECT_EQ(reduced(), (Floats{3, -4}));
    store->set_reduction("max");
    EXPECT_EQ(reduced(), (Floats{5, 0}));
    store->set_reduction("min");
    EXPECT_EQ(reduced(), (Floats{1, -8}));
    store->set_reduction(sum);
    EXPECT_EQ(reduced(), (Floats{9, -12}));
  }
}

TEST(Store, LetsAnUpdaterChangeWhatIsStored) {
  for (const StorePtr& store : all_stores()) {
    store->init("a", on(0, {1, 1}));
    store->init("b", on(0, {2}));
    std::vector<std::string> called;
    store->set_updater([&](std::span<const Update> updates) {
      for (const Update& update : updates) {
        called.push_back(to_string(update.key));
        EXPECT_EQ(update.reduced.device(), update.stored.device());
        copy_into(update.stored, call("elemwise_sub", {update.stored, update.reduced}));
      }
    });
    const Item items[] = {{"b", {on(1, {1}), on(2, {2})}}, {"a", {on(1, {1, 2}), on(2, {3, 4})}}};
    store->push(items, 0);
    EXPECT_EQ(called, (std::vector<std::string>{"'a'", "'b'"}));
    EXPECT_EQ(pulled(*store, "a", 2), (Floats{-3, -5}));
    const NDArray out = on(1, {0});
    store->pushpull("b", {on(1, {1}), on(2, {1})}, {out});
    EXPECT_EQ(out.to_vector<float>(), (Floats{-3}));
    store->set_updater({});
    store->push("b", {on(1, {8})});
    EXPECT_EQ(pulled(*store, "b", 1), (Floats{8}));
  }
}

// As MXNet does it: numbers in their order, texts in that of init.
TEST(Store, UpdatesInTheOrderOfKeys) {
  const auto order_of_updates = [](KVStore& store, const std::vector<Key>& keys) {
    std::vector<Item> items;
    for (const Key& key : keys) items.push_back({key, {on(0, {1})}});
    store.init(items);
    std::vector<std::string> called;
    store.set_updater([&](std::span<const Update> updates) {
      for (const Update& update : updates) called.push_back(to_string(update.key));
    });
    std::ranges::reverse(items);
    store.push(items, 0);
    store.pushpull(items, items, 0);
    return called;
  };
  for (const StorePtr& store : all_stores())
    EXPECT_EQ(order_of_updates(*store, {30, 4, 5}), (std::vector<std::string>{"4", "5", "30", "4", "5", "30"}));
  for (const StorePtr& store : all_stores())
    EXPECT_EQ(order_of_updates(*store, {"c", "a", "b"}),
              (std::vector<std::string>{"'c'", "'a'", "'b'", "'c'", "'a'", "'b'"}));
}

NDArray of_type(DType dtype, const Floats& values, int cpu = 0) { return cast_to(on(cpu, values), dtype); }

TEST(Store, ConvertsDtypes) {
  const Floats fine{1.0010765F, 3.7F}, coarse{1.0009766F, 3.6992188F};  // as float32, as float16
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, fine));
    const NDArray half = of_type(DType::kFloat16, {0, 0}), number = of_type(DType::kInt32, {0, 0}, 1);
    store->pull("w", {half, number});
    EXPECT_EQ(cast_to(half, DType::kFloat32).to_vector<float>(), coarse);
    EXPECT_EQ(number.to_vector<int32_t>(), (std::vector<int32_t>{1, 3}));
    EXPECT_EQ(pulled(*store, "w", 2), fine);

    store->push("w", {of_type(DType::kFloat16, {2048, 1}), of_type(DType::kFloat16, {1, 1}, 1), on(2, {1, 0.5F})});
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{2050, 2.5F}));  // summed as float32
    store->push("w", {of_type(DType::kInt32, {7, 8})});       // takes the place of what is stored
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{7, 8}));
    const std::vector<NDArray> values{of_type(DType::kFloat16, {1, 2}), on(1, {0.25F, 0.5F})};
    store->pushpull("w", values, values);
    EXPECT_EQ(values[0].dtype(), DType::kFloat16);
    EXPECT_EQ(cast_to(values[0], DType::kFloat32).to_vector<float>(), (Floats{1.25F, 2.5F}));
    EXPECT_EQ(values[1].to_vector<float>(), (Floats{1.25F, 2.5F}));
  }
}

TEST(Store, GivesAnUpdaterWhatItChangesInOneDtype) {
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, {9, 9}));
    store->set_updater([&](std::span<const Update> updates) {
      EXPECT_EQ(updates[0].reduced.dtype(), DType::kFloat32);
      copy_into(updates[0].stored, call("elemwise_sub", {updates[0].stored, updates[0].reduced}));
    });
    store->push("w", {of_type(DType::kFloat16, {1, 2})});
    store->push("w", {of_type(DType::kFloat64, {1, 2}), of_type(DType::kFloat64, {1, 2}, 1)});
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{6, 3}));
  }
}

TEST(Store, PullsRowsOfOtherDtypes) {
  for (const StorePtr& store : all_stores()) {
    store->init("table", array({1, 2, 3, 4}, {2, 2}));
    const Item item{"table", {NDArray::empty({2, 2}, DType::kFloat64)}};
    const std::vector<NDArray> ids{array({1})};
    store->row_sparse_pull({&item, 1}, {&ids, 1}, 0);
    EXPECT_EQ(item.arrays[0].to_vector<double>(), (std::vector<double>{0, 0, 3, 4}));
  }
}

TEST(Store, CallsWithoutKeysDoNothing) {
  for (const StorePtr& store : all_stores()) {
    const std::span<const Item> none;
    store->init(none);
    store->push(none, 0);
    store->pull(none, 0);
    store->pushpull(none, none, 0);
    store->row_sparse_pull(none, {}, 0);
    store->set_updater([](std::span<const Update>) { FAIL() << "nothing was pushed"; });
    store->push(none, 0);
    store->pushpull(none, none, 0);
  }
}

TEST(Store, SumsInOneOrder) {
  for (const StorePtr& store : all_stores()) {
    std::string first;
    for (int round = 0; round < 3; ++round) {
      std::vector<NDArray> values;
      for (int i = 0; i < 5; ++i) {
        values.push_back(NDArray::empty({10'000}, DType::kFloat32, {DeviceType::kCpu, i}));
        copy_into(values.back(), varied({10'000}, DType::kFloat32, 50 + static_cast<uint64_t>(i)));
      }
      if (round == 0) store->init(0, values[0]);
      store->pushpull(0, values, values);
      if (round == 0) first = headrace::bytes_of(values[0]);
      for (const NDArray& value : values) EXPECT_EQ(headrace::bytes_of(value), first);
    }
  }
}

TEST(Store, PullsRows) {
  for (const StorePtr& store : all_stores()) {
    store->init("table", array({1, 2, 3, 4, 5, 6}, {3, 2}));
    const NDArray out = NDArray::empty({3, 2}), other = NDArray::empty({3, 2});
    const Item item{"table", {out, other}};
    const std::vector<NDArray> ids{array({2, 0, 2})};
    store->row_sparse_pull({&item, 1}, {&ids, 1}, 0);
    for (const NDArray& rows : {out, other}) EXPECT_EQ(rows.to_vector<float>(), (Floats{1, 2, 0, 0, 5, 6}));
    const std::vector<NDArray> each{array({1}), NDArray::empty({0})};
    store->row_sparse_pull({&item, 1}, {&each, 1}, 0);
    EXPECT_EQ(out.to_vector<float>(), (Floats{0, 0, 3, 4, 0, 0}));
    EXPECT_EQ(other.to_vector<float>(), (Floats{0, 0, 0, 0, 0, 0}));
    const std::vector<NDArray> wrong{array({3})};
    store->row_sparse_pull({&item, 1}, {&wrong, 1}, 0);
    EXPECT_EQ(kind_of([&] { out.wait_to_read(); }), ErrorKind::kIndex);
  }
}

TEST(Store, CompressesWhatIsPushed) {
  const StorePtr store = create("device");
  store->set_gradient_compression({.threshold = 1});
  store->init("w", on(0, {9, 9, 9}));
  EXPECT_EQ(pulled(*store, "w", 3), (Floats{9, 9, 9}));  // what is inited is not compressed
  store->push("w", {on(0, {0.75f, 2, -1}), on(1, {0.75f, 2, 0})});
  EXPECT_EQ(pulled(*store, "w", 3), (Floats{0, 2, -1}));
  store->push("w", {on(0, {0.75f, 0, 0}), on(1, {0, 0, 0})});
  EXPECT_EQ(pulled(*store, "w", 3), (Floats{1, 2, 0}));
  store->init("d", cast_to(array({1}), DType::kFloat64));
  EXPECT_EQ(kind_of([&] { store->push("d", {cast_to(array({1}), DType::kFloat64)}); }), ErrorKind::kType);
  EXPECT_EQ(kind_of([&] { store->set_reduction("max"); }), ErrorKind::kValue);
  for (const double threshold : {0., -1., 1e-50, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(kind_of([&] { store->set_gradient_compression({.threshold = threshold}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { create("local")->set_gradient_compression({}); }), ErrorKind::kValue);
}

// What was wrong leaves the store as it was.
TEST(Store, RefusesWhatDoesNotFit) {
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, {1, 2}));
    const auto push = [&](const Key& key, std::vector<NDArray> values) {
      return kind_of([&] { store->push(key, std::move(values)); });
    };
    EXPECT_EQ(push("v", {on(0, {1, 2})}), ErrorKind::kRuntime);
    EXPECT_EQ(push(1, {on(0, {1, 2})}), ErrorKind::kRuntime);
    EXPECT_EQ(push("w", {}), ErrorKind::kValue);
    EXPECT_EQ(push("w", {on(0, {5, 5}), on(1, {1, 2, 3})}), ErrorKind::kValue);
    EXPECT_EQ(push("w", {NDArray()}), ErrorKind::kType);
    EXPECT_EQ(kind_of([&] { store->init("w", on(0, {1, 2})); }), ErrorKind::kRuntime);
    const Item twice[] = {{"x", {on(0, {1})}}, {"x", {on(0, {1})}}}, mixed[] = {{"x", {on(0, {1})}}, {4, {on(0, {1})}}};
    EXPECT_EQ(kind_of([&] { store->init(twice); }), ErrorKind::kRuntime);
    EXPECT_EQ(kind_of([&] { store->init(mixed); }), ErrorKind::kRuntime);
    EXPECT_EQ(push("x", {on(0, {1})}), ErrorKind::kRuntime);  // neither of them is there
    EXPECT_EQ(kind_of([&] { store->pull("w", {on(0, {1})}); }), ErrorKind::kValue);
    store->init("v", on(0, {3, 4}));
    const Item values[] = {{"v", {on(0, {8, 8})}}, {"w", {on(0, {8, 8})}}}, outs[] = {{"w", {on(0, {8, 8})}}};
    EXPECT_EQ(kind_of([&] { store->pushpull(values, outs, 0); }), ErrorKind::kValue);
    store->set_reduction("mean");
    store->init("n", cast_to(on(0, {1, 2}), DType::kInt32));
    EXPECT_EQ(push("n", {cast_to(on(0, {1, 2}), DType::kInt32)}), ErrorKind::kType);
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{1, 2}));
    EXPECT_EQ(pulled(*store, "v", 2), (Floats{3, 4}));
  }
}

TEST(Store, JoinsArraysOfARepeatedKey) {
  const StorePtr store = create();
  store->init("w", on(0, {0}));
  const Item items[] = {{"w", {on(0, {1})}}, {"w", {on(1, {2})}}};
  store->push(items, 0);
  EXPECT_EQ(pulled(*store, "w", 1), Floats{3});
}

TEST(Store, ReplacesWhatIsStored) {
  for (const StorePtr& store : all_stores()) {
    store->init("w", on(0, {1, 2}));
    store->init("v", on(0, {3}));
    int updates = 0;
    store->set_updater([&](std::span<const Update>) { ++updates; });
    const NDArray value = on(1, {5, 6});
    store->replace("w", value);
    copy_into(value, on(0, {0, 0}));  // the store has a copy
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{5, 6}));
    store->replace("w", of_type(DType::kFloat64, {7, 8}));
    EXPECT_EQ(pulled(*store, "w", 2), (Floats{7, 8}));
    EXPECT_EQ(updates, 0);
    EXPECT_TRUE(store->updater());
    const Item wrong[] = {{"v", {on(0, {9})}}, {"w", {on(0, {9, 9}), on(0, {9, 9})}}};
    EXPECT_EQ(kind_of([&] { store->replace(wrong); }), ErrorKind::kValue);
    EXPECT_EQ(kind_of([&] { store->replace("w", on(0, {1})); }), ErrorKind::kValue);
    EXPECT_EQ(kind_of([&] { store->replace("x", on(0, {1})); }), ErrorKind::kRuntime);
    EXPECT_EQ(pulled(*store, "v", 1), Floats{3});
  }
}

TEST(Store, ReplacingLeavesWhatCompressionHasLeftOver) {
  const StorePtr store = create("device");
  store->set_gradient_compression({.threshold = 1});
  store->init("w", on(0, {0}));
  store->push("w", {on(0, {0.75F})});
  store->replace("w", on(0, {9}));
  EXPECT_EQ(pulled(*store, "w", 1), Floats{9});
  store->push("w", {on(0, {0.75F})});
  EXPECT_EQ(pulled(*store, "w", 1), Floats{1});
}

TEST(Store, PushesOfFewerDevicesLeaveWhatOthersHaveLeftOver) {
  const StorePtr store = create("device");
  store->set_gradient_compression({.threshold = 1});
  store->init("w", on(0, {0}));
  store->push("w", {on(0, {0}), on(1, {0.75F})});
  store->push("w", {on(0, {0})});
  EXPECT_EQ(pulled(*store, "w", 1), Floats{0});
  store->push("w", {on(0, {0}), on(1, {0.75F})});
  EXPECT_EQ(pulled(*store, "w", 1), Floats{1});
}

TEST(Kinds, HaveTheCapabilitiesOfTheirStores) {
  for (const char* name : {"local", "local_allreduce_cpu", "device", "local_allreduce_device", "nccl"})
    for (const Capability capability :
         {Capability::kOptimizer, Capability::kCompression, Capability::kAsynchronous, Capability::kDistributed})
      EXPECT_EQ(is_capable(name, capability), create(name)->is_capable(capability)) << name;
  EXPECT_TRUE(is_capable("Device", Capability::kCompression));
  EXPECT_FALSE(is_capable("local", Capability::kCompression));
  EXPECT_EQ(kind_of([] { is_capable("nowhere", Capability::kOptimizer); }), ErrorKind::kValue);
  EXPECT_EQ(capability_of("Distributed"), Capability::kDistributed);
  EXPECT_EQ(kind_of([] { capability_of("wings"); }), ErrorKind::kValue);
}

TEST(Kinds, AreFoundByNameInAnyCase) {
  EXPECT_EQ(create()->type(), "local");
  EXPECT_EQ(create("NCCL")->type(), "nccl");
  EXPECT_EQ(create("local_allreduce_device")->type(), "local_allreduce_device");
  EXPECT_EQ(create("device")->rank(), 0);
  EXPECT_EQ(create("device")->num_workers(), 1);
  for (const char* name : {"", "p3store_dist", "remote"})
    EXPECT_EQ(kind_of([&] { create(name); }), ErrorKind::kValue) << name;
  EXPECT_EQ(kind_of([] { create("device", {.strategy = "magic"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { create("device", {.topology = "ethernet:x"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { create("device", {.topology = "/no/such/file.json"}); }), ErrorKind::kOs);
  EXPECT_EQ(kind_of([] { create("local", {.strategy = "ring"}); }), ErrorKind::kValue);
}

// As MXNet reads them: "_async" says when a push counts, whatever else is in the name.
TEST(Kinds, HaveServersWhereTheirNamesSayDist) {
  for (const char* name : {"dist", "dist_sync_cpu", "dist_gpu", "Dist_Foo", "distasync", "my_dist"}) {
    EXPECT_TRUE(is_capable(name, Capability::kDistributed)) << name;
    EXPECT_FALSE(is_capable(name, Capability::kAsynchronous)) << name;
  }
  for (const char* name : {"dist_async", "dist_async_cpu", "dist_sync_async", "DIST_GPU_ASYNC"})
    EXPECT_TRUE(is_capable(name, Capability::kAsynchronous)) << name;
  for (const char* name : {"dist_p3", "p3store_dist", "_async", "dis"})
    EXPECT_EQ(kind_of([&] { is_capable(name, Capability::kDistributed); }), ErrorKind::kValue) << name;
}

TEST(Kinds, OfOnesOwnMaySayDist) {
  register_kind({"my_distribution", "for this test", [](const auto&, const auto&) { return create("local"); }});
  EXPECT_FALSE(is_capable("my_distribution", Capability::kDistributed));
  EXPECT_FALSE(sums_without_servers("my_distribution"));
  EXPECT_EQ(create("my_distribution")->type(), "local");
}

TEST(Kinds, WithoutNameOrFunctionAreRefused) {
  EXPECT_EQ(kind_of([] { register_kind({.name = "no_function"}); }), ErrorKind::kValue);
  EXPECT_EQ(kind_of([] { register_kind({.make = [](const auto&, const auto&) { return create("local"); }}); }),
            ErrorKind::kValue);
  register_kind({.name = "gives_none", .make = [](const auto&, const auto&) { return std::unique_ptr<KVStore>(); }});
  EXPECT_EQ(kind_of([] { create("gives_none"); }), ErrorKind::kRuntime);
}

TEST(Kinds, CanBeAdded) {
  std::string seen;
  const Kind kind{"test_kind",
                  "for this test",
                  [&](const std::string& name, const Options& options) {
                    seen = name + " " + options.topology;
                    return create("local");
                  },
                  {Capability::kAsynchronous}};
  register_kind(kind);
  EXPECT_EQ(create("Test_Kind", {.topology = "here"})->type(), "local");
  EXPECT_EQ(seen, "test_kind here");
  EXPECT_EQ(kind_of([&] { register_kind(kind); }), ErrorKind::kValue);
  EXPECT_EQ(kinds().back().name, "test_kind");
  EXPECT_TRUE(is_capable("test_kind", Capability::kAsynchronous));
  EXPECT_FALSE(is_capable("test_kind", Capability::kOptimizer));
}

TEST(Store, NamesADeviceThatTheTopologyLacks) {
  const StorePtr store = create("device", {.strategy = "ring", .topology = "pcie4"});
  store->init("w", on(0, {1}));
  try {
    store->push("w", {on(0, {1}), on(3, {1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("has no cpu(3)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace headrace::kvstore
