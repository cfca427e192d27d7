// Stores whose ranks, threads here, share the updates of large arrays.
#include "kvstore/update_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "kvstore/collective_communicator.h"
#include "tests/kvstore/values.h"
#include "tests/support/memory_wire.h"

namespace headrace::kvstore {
namespace {

using collective::Group;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

const Shape kLarge{1001, 303}, kSmall{3, 5};  // 1.2 MB; less than is worth sharing
const std::vector<std::vector<int>> kPlacements = {{0, 0, 0}, {0, 1, 0, 1}, {0, 0, 0, 1, 1}};

std::unique_ptr<KVStore> store_of(Group& group, bool shares) {
  return make_store(shares ? "mpi_sharded" : "mpi",
                    make_collective_communicator(group, make_device_communicator(), shares));
}

// SGD with momentum, whose states it keeps.
class Momentum {
 public:
  void operator()(std::span<const Update> updates) {
    for (const Update& one : updates) {
      NDArray& state = states_[to_string(one.key)];
      if (!state) state = zeros(one.stored);
      EXPECT_EQ(state.shape(), one.reduced.shape());
      state = call("elemwise_add", {call("_mul_scalar", {state}, {{"scalar", 0.9}}), one.reduced});
      copy_into(one.stored, call("elemwise_sub", {one.stored, call("_mul_scalar", {state}, {{"scalar", 0.1}})}));
    }
  }
  int64_t elements(const Key& key) { return states_.at(to_string(key)).size(); }

 private:
  static NDArray zeros(const NDArray& like) { return call("_zeros", {}, {{"shape", like.shape()}}); }
  std::map<std::string, NDArray> states_;
};

NDArray gradient(const Shape& shape, int rank, int step) {
  return varied(shape, DType::kFloat32, 100 * static_cast<uint64_t>(step) + static_cast<uint64_t>(rank));
}

std::string bits_of(KVStore& store, const Key& key, const Shape& shape) {
  const NDArray out = NDArray::empty(shape);
  store.pull(key, {out});
  return headrace::bytes_of(out);
}

// What becomes of two arrays in a few steps.
std::string trained(KVStore& store, const std::shared_ptr<Momentum>& momentum) {
  store.init("large", varied(kLarge, DType::kFloat32, 1));
  store.init("small", varied(kSmall, DType::kFloat32, 2));
  store.set_updater([momentum](std::span<const Update> updates) { (*momentum)(updates); });
  const NDArray out = NDArray::empty(kLarge);
  for (int step = 0; step < 3; ++step) {
    const NDArray own = gradient(kLarge, store.rank(), step);
    if (step == 1)
      store.push("large", {own, own});
    else
      store.pushpull("large", {own}, {out});
    store.push("small", {gradient(kSmall, store.rank(), step)});
  }
  EXPECT_EQ(headrace::bytes_of(out), bits_of(store, "large", kLarge));
  return bits_of(store, "large", kLarge) + bits_of(store, "small", kSmall);
}

TEST(UpdateSharing, GivesTheBitsOfWholeUpdates) {
  for (const std::vector<int>& placement : kPlacements) {
    std::mutex mutex;
    int64_t elements = 0;
    collective::on_machines(placement, [&](Group& group) {
      const auto whole = store_of(group, false), shared = store_of(group, true);
      const auto alone = std::make_shared<Momentum>(), together = std::make_shared<Momentum>();
      EXPECT_EQ(trained(*shared, together), trained(*whole, alone));
      EXPECT_EQ(alone->elements("large"), 1001 * 303);
      EXPECT_LE(together->elements("large"), 1001 * 303 / 2);
      EXPECT_EQ(together->elements("small"), 15);
      std::lock_guard guard(mutex);
      elements += together->elements("large");
    });
    EXPECT_EQ(elements, 1001 * 303);
  }
}

TEST(UpdateSharing, SaysWhoUpdatesWhat) {
  collective::on_groups(3, [](Group& group) {
    const auto store = store_of(group, true);
    store->init("large", varied(kLarge, DType::kFloat32, 1));
    store->init("small", varied(kSmall, DType::kFloat32, 1));
    EXPECT_TRUE(store->shares_updates());
    int64_t end = 0;
    for (const Share& share : store->shares("large")) {
      EXPECT_EQ(share.begin, end);
      end = share.end;
    }
    EXPECT_EQ(end, 1001 * 303);
    EXPECT_THAT(store->shares("small"), IsEmpty());
    EXPECT_THAT([&] { store->shares("x"); }, ThrowsMessage<Error>(HasSubstr("has not been inited")));
    store->keep_whole();
    EXPECT_FALSE(store->shares_updates());
    EXPECT_THAT(store->shares("large"), IsEmpty());
  });
  collective::on_groups(1, [](Group& group) { EXPECT_FALSE(store_of(group, true)->shares_updates()); });
}

TEST(UpdateSharing, WithoutAnUpdaterSumsReplaceWhatIsStored) {
  collective::on_groups(3, [](Group& group) {
    const auto store = store_of(group, true);
    store->init("large", varied(kLarge, DType::kFloat32, 1));
    store->push("large", {full(kLarge, group.rank(), DType::kFloat32, {})});
    EXPECT_THAT(pulled(*store, "large", kLarge), Each(3));
  });
}

// A mean counts all values, and what was replaced is updated from then on.
TEST(UpdateSharing, KnowsMeansAndReplacements) {
  collective::on_groups(3, [](Group& group) {
    const auto store = store_of(group, true);
    const auto value = [&](double element) { return full(kLarge, element, DType::kFloat32, {}); };
    store->init("large", value(1));
    store->set_reduction("mean");
    store->set_updater([](std::span<const Update> updates) {
      for (const Update& one : updates) copy_into(one.stored, call("elemwise_sub", {one.stored, one.reduced}));
    });
    store->push("large", std::vector<NDArray>(static_cast<size_t>(group.rank() + 1), value(6)));
    EXPECT_THAT(pulled(*store, "large", kLarge), Each(-5));
    store->replace("large", value(100 + group.rank()));
    store->push("large", {value(group.rank())});
    EXPECT_THAT(pulled(*store, "large", kLarge), Each(99));
  });
}

TEST(UpdateSharing, WhoWaitsForARankThatHasLeftIsTold) {
  collective::on_groups(3, [](Group& group) {
    const auto store = store_of(group, true);
    store->init("large", varied(kLarge, DType::kFloat32, 1));
    store->set_updater([](std::span<const Update> updates) {
      for (const Update& one : updates) copy_into(one.stored, call("elemwise_sub", {one.stored, one.reduced}));
    });
    const NDArray other = NDArray::empty(group.rank() == 1 ? Shape{303, 1001} : kLarge);
    if (group.rank() == 1) {
      EXPECT_THAT([&] { store->push("large", {other}); }, ThrowsMessage<Error>(HasSubstr("shape")));
      return;
    }
    const auto go_on = [&] {
      for (int step = 0; step < 100; ++step) {
        store->push("large", {other});
        pulled(*store, "large", kLarge);
      }
    };
    EXPECT_THAT(go_on, ThrowsMessage<Error>(HasSubstr("rank 1 has ended")));
  });
}

}  // namespace
}  // namespace headrace::kvstore
