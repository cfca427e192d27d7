// Groups whose ranks are threads.
#include "collective/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "collective/operations.h"
#include "tests/support/arrays.h"
#include "tests/support/memory_wire.h"
#include "tests/support/sanitizers.h"

namespace headrace::collective {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Floats = std::vector<float>;

constexpr int kRanks = 3;

TEST(Group, KnowsItsRanks) {
  on_groups(kRanks, [](Group& group) {
    EXPECT_EQ(group.size(), kRanks);
    EXPECT_EQ(group.machines().local_size(), size_t{kRanks});
    EXPECT_EQ(group.machines().local(), static_cast<size_t>(group.rank()));
    EXPECT_EQ(group.take_number(), 0);
    EXPECT_EQ(group.take_number(), 1);
  });
}

TEST(Group, RaisesWhatKeepsTheWireFromOpening) {
  const auto open = []() -> std::unique_ptr<Wire> { throw Error(ErrorKind::kOs, "no wire"); };
  EXPECT_EQ(kind_of([&] { Group group(open); }), ErrorKind::kOs);
}

TEST(Group, ABarrierHoldsAllBack) {
  std::atomic<int> arrived = 0;
  on_groups(kRanks, [&](Group& group) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      barrier(group);
      EXPECT_EQ(arrived, kRanks * round);
      barrier(group);
    }
  });
}

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

// The sum in the order of the ranks within each machine, then of the machines.
NDArray sum_in_order(const std::vector<int>& placement, const std::function<NDArray(int rank)>& value_of) {
  const DType dtype = value_of(0).dtype();
  const Machines machines(placement, 0);
  NDArray total;
  for (const std::vector<int>& ranks : machines.ranks()) {
    NDArray partial;
    for (const int rank : ranks) {
      const NDArray wide = cast_to(value_of(rank), is_half(dtype) ? DType::kFloat32 : dtype);
      partial = partial ? call("elemwise_add", {partial, wide}) : wide;
    }
    total = total ? call("elemwise_add", {total, partial}) : partial;
  }
  return cast_to(total, dtype);
}

const std::vector<std::vector<int>> kPlacements = {{0, 0, 0}, {0, 1, 2},       {0, 0, 1, 1},      {0, 1, 0, 1},
                                                   {0, 1, 0}, {0, 0, 0, 0, 1}, {0, 1, 2, 2, 1, 0}};

// Of every way to the sum: sent whole, in parts, in chunks; within machines first.
TEST(Group, FoldsInTheOrderOfRanksAndMachines) {
  for (const std::vector<int>& placement : kPlacements) {
    for (const int64_t size : {0, 1, 2, 1000, 70'001, 600'000}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kFloat64}) {
        if (size > 2000 && dtype != DType::kFloat32 && dtype != DType::kFloat16) continue;
        const auto value_of = [&](int rank) { return varied({size}, dtype, 40 + static_cast<uint64_t>(rank)); };
        const std::string bits = bytes_of(sum_in_order(placement, value_of));
        on_machines(placement, [&](Group& group) {
          const NDArray own = value_of(group.rank());
          EXPECT_EQ(bytes_of(all_reduce(group, "", Fold::kSum, own)), bits)
              << testing::PrintToString(placement) << size << dtype_name(dtype);
          EXPECT_EQ(bytes_of(own), bytes_of(value_of(group.rank())));
        });
      }
    }
  }
}

TEST(Group, WhatItScattersIsPartOfTheSameSum) {
  for (const std::vector<int>& placement : kPlacements) {
    const auto ranks = static_cast<int64_t>(placement.size());
    const auto value_of = [&](int rank) {
      return varied({ranks, 5003}, DType::kFloat16, 90 + static_cast<uint64_t>(rank));
    };
    const std::string bits = bytes_of(sum_in_order(placement, value_of));
    on_machines(placement, [&](Group& group) {
      const std::string part = bytes_of(reduce_scatter(group, "", Fold::kSum, value_of(group.rank())));
      EXPECT_EQ(part, bits.substr(part.size() * static_cast<size_t>(group.rank()), part.size()));
    });
  }
}

TEST(Group, SharesOfASumMakeTheSameSum) {
  for (const std::vector<int>& placement : kPlacements) {
    for (const int64_t size : {0, 1, 5, 70'001, 600'001}) {
      for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
        const auto value_of = [&](int rank) { return varied({size}, dtype, 70 + static_cast<uint64_t>(rank)); };
        const std::string bits = bytes_of(sum_in_order(placement, value_of));
        on_machines(placement, [&](Group& group) {
          const NDArray value = value_of(group.rank());
          const NDArray share = reduce_share(group, "", Fold::kSum, value);
          EXPECT_EQ(bytes_of(value), bytes_of(value_of(group.rank())));
          const Portion own = group.machines().shares(static_cast<size_t>(size))[static_cast<size_t>(group.rank())];
          const size_t item = item_size(dtype);
          EXPECT_EQ(bytes_of(share), bits.substr(own.begin * item, own.size * item));
          EXPECT_EQ(bytes_of(gather_shares(group, "", share, {size})), bits)
              << testing::PrintToString(placement) << size << dtype_name(dtype);
        });
      }
    }
  }
}

constexpr int kRuns = test::kIsSanitized ? 10 : 50;

// Chunks of all sorts are on their way together, and each rank is ready for them in its own time.
TEST(Group, TheBitsDoNotDependOnWhoIsFirst) {
  const std::vector<int> placement = {0, 1, 1, 0, 2, 2};
  std::vector<std::string> bits;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::string> seen(placement.size());
    on_machines(placement, [&](Group& group) {
      std::vector<NDArray> sums;
      for (const int64_t size : {7, 40'000, 300, 600'000, 9000}) {
        if ((group.rank() + run) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50 * run));
        const NDArray own = varied({size}, DType::kFloat32, static_cast<uint64_t>(10 * size + group.rank()));
        sums.push_back(all_reduce(group, "", Fold::kSum, own));
        sums.push_back(all_gather(group, "", own));
        sums.push_back(gather_shares(group, "", reduce_share(group, "", Fold::kSum, own), {size}));
        sums.push_back(all_reduce(group, std::to_string(size), Fold::kMax, own));
      }
      for (const NDArray& sum : sums) seen[static_cast<size_t>(group.rank())] += bytes_of(sum);
    });
    if (bits.empty()) bits = std::vector<std::string>(seen.size(), seen[0]);
    EXPECT_TRUE(seen == bits) << "in run " << run;
  }
}

TEST(Group, GreatestAndLeast) {
  for (const std::vector<int>& placement : {std::vector<int>{0, 0, 0}, {0, 1, 0}})
    on_machines(placement, [](Group& group) {
      const auto own = static_cast<float>(group.rank());
      const NDArray value = array({own, -own, group.rank() == 1 ? std::nanf("") : own});
      const Floats greatest = all_reduce(group, "", Fold::kMax, value).to_vector<float>();
      EXPECT_EQ(greatest[0], 2);
      EXPECT_EQ(greatest[1], 0);
      EXPECT_TRUE(std::isnan(greatest[2]));
      EXPECT_EQ(all_reduce(group, "", Fold::kMin, value).to_vector<float>()[1], -2);
    });
}

TEST(Group, ScattersWhatItHasReduced) {
  on_groups(kRanks, [](Group& group) {
    Floats values(6);
    std::iota(values.begin(), values.end(), 0.0F);
    const auto own = static_cast<float>(2 * group.rank());
    const NDArray part = reduce_scatter(group, "", Fold::kSum, array(values, {3, 2}));
    EXPECT_EQ(part.shape(), (Shape{1, 2}));
    EXPECT_THAT(part.to_vector<float>(), ElementsAre(3 * own, 3 * (own + 1)));
    EXPECT_EQ(kind_of([&] { reduce_scatter(group, "", Fold::kSum, array(values, {2, 3})); }), ErrorKind::kValue);
  });
}

TEST(Group, GathersArraysOfDifferentLengths) {
  on_groups(kRanks, [](Group& group) {
    const NDArray own = full({group.rank(), 2}, group.rank(), DType::kFloat32, {});
    const NDArray all = all_gather(group, "", own);
    EXPECT_EQ(all.shape(), (Shape{3, 2}));
    EXPECT_THAT(all.to_vector<float>(), ElementsAre(1, 1, 2, 2, 2, 2));
    EXPECT_EQ(kind_of([&] { all_gather(group, "", full({}, 1, DType::kFloat32, {})); }), ErrorKind::kValue);
  });
}

TEST(Group, BroadcastsWhatTheRootHas) {
  on_groups(kRanks, [](Group& group) {
    const NDArray own = full({70'000}, group.rank(), DType::kFloat32, {});
    EXPECT_THAT(broadcast(group, "", own, 2).to_vector<float>(), Each(2));
    EXPECT_THAT(own.to_vector<float>(), Each(group.rank()));
    EXPECT_EQ(kind_of([&] { broadcast(group, "", own, 3); }), ErrorKind::kValue);
    const std::string text = group.rank() == 1 ? "words" : "";
    const auto bytes = broadcast_bytes(group, "", std::as_bytes(std::span(text)), 1);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "words");
    const auto all = gather_bytes(group, "", std::as_bytes(std::span(text)));
    EXPECT_EQ(all[0].size() + all[2].size(), 0U);
    EXPECT_EQ(all[1].size(), 5U);
  });
}

TEST(Group, NamedCallsComeInAnyOrder) {
  constexpr int kCalls = 41;  // a prime
  on_groups(kRanks, [](Group& group) {
    std::vector<NDArray> sums(kCalls);
    for (int i = 0; i < kCalls; ++i) {
      const int number = (i * (2 * group.rank() + 1) + group.rank()) % kCalls;
      sums[static_cast<size_t>(number)] =
          all_reduce(group, std::to_string(number), Fold::kSum, full({100 * number}, number, DType::kFloat32, {}));
    }
    for (int number = 0; number < kCalls; ++number)
      EXPECT_THAT(sums[static_cast<size_t>(number)].to_vector<float>(), Each(kRanks * number));
  });
}

TEST(Group, AnErrorOfOneIsEverybodys) {
  on_groups(kRanks, [](Group& group) {
    NDArray value = array({1, 2});
    if (group.rank() == 1) value = call("take", {value, array({9, 9})}, {{"mode", std::string("raise")}});
    const NDArray sum = all_reduce(group, "", Fold::kSum, value);
    EXPECT_EQ(kind_of([&] { sum.wait_to_read(); }), ErrorKind::kIndex);
    EXPECT_THAT(all_reduce(group, "", Fold::kSum, array({1, 2})).to_vector<float>(), ElementsAre(3, 6));
  });
}

TEST(Group, DifferentCallsAreAnErrorOnAllRanks) {
  on_groups(kRanks, [](Group& group) {
    const NDArray value = full({2 + group.rank() / 2}, 1, DType::kFloat32, {});
    const auto sum = [&] { all_reduce(group, "", Fold::kSum, value).wait_to_read(); };
    EXPECT_THAT(sum, ThrowsMessage<Error>(testing::AllOf(HasSubstr("float32 of shape (2,)"), HasSubstr("(3,)"))));
    EXPECT_THAT([&] { barrier(group); }, ThrowsMessage<Error>(HasSubstr("all ranks must make the same calls")));
  });
}

TEST(Group, WhoWaitsForARankThatHasEndedIsTold) {
  on_groups(2, [](Group& group) {
    if (group.rank() == 1) return;
    EXPECT_THAT([&] { barrier(group); }, ThrowsMessage<Error>(HasSubstr("rank 1 has ended, but rank 0 calls barrier")));
  });
  on_groups(2, [](Group& group) {
    if (group.rank() == 1) return group.end(CallFailure{ErrorKind::kRuntime, "ValueError: mine"});
    EXPECT_THAT([&] { barrier(group); }, ThrowsMessage<Error>(HasSubstr("ValueError: mine")));
    EXPECT_THAT([&] { barrier(group); }, ThrowsMessage<Error>(HasSubstr("ValueError: mine")));
  });
}

TEST(Group, AfterTheEndThereAreNoCalls) {
  on_groups(2, [](Group& group) {
    group.end({});
    EXPECT_THAT([&] { barrier(group); }, ThrowsMessage<Error>(HasSubstr("had left the others")));
  });
}

// What the first two ranks know of each other in the test below.
struct Parting {
  std::atomic<int> cycles{0};  // that rank 0 has begun
  std::atomic<bool> has_left{false}, has_left_early{false};
};

// The transfers of rank 1 are late: they are over when rank 0 has gone through several cycles more, or has left.
class LateWire final : public Wire {
 public:
  LateWire(Exchanges& exchanges, int rank, Parting& parting) : wire_(exchanges, rank), parting_(parting) {}
  ~LateWire() override { parting_.has_left = true; }

  int rank() const noexcept override { return wire_.rank(); }
  int size() const noexcept override { return wire_.size(); }
  const Machines& machines() const noexcept override { return wire_.machines(); }
  TransferPtr scatter(Lane lane, const std::byte* own, std::span<const size_t> sizes, std::byte* all) override {
    return late(wire_.scatter(lane, own, sizes, all));
  }
  TransferPtr gather(Lane lane, std::byte* all, std::span<const size_t> sizes) override {
    if (lane == Lane::kAgreement && rank() == 0) ++parting_.cycles;
    TransferPtr transfer = wire_.gather(lane, all, sizes);
    return lane == Lane::kAgreement ? std::make_unique<Cycle>(std::move(transfer), parting_)
                                    : late(std::move(transfer));
  }
  TransferPtr broadcast(std::byte* data, size_t size, int root) override {
    return late(wire_.broadcast(data, size, root));
  }
  void abort(const std::string& why) override { wire_.abort(why); }

 private:
  struct Late final : Transfer {
    Late(TransferPtr with, Parting& of) : transfer(std::move(with)), parting(of) {}
    bool is_done() override {
      if (!transfer->is_done()) return false;
      if (last_cycle == 0) last_cycle = parting.cycles + 6;
      if (parting.has_left) parting.has_left_early = true;
      return parting.has_left || parting.cycles >= last_cycle;
    }
    const TransferPtr transfer;
    Parting& parting;
    int last_cycle = 0;
  };
  // One that nobody takes part in any more is over, so that the test ends.
  struct Cycle final : Transfer {
    Cycle(TransferPtr with, Parting& of) : transfer(std::move(with)), parting(of) {}
    bool is_done() override { return transfer->is_done() || parting.has_left; }
    const TransferPtr transfer;
    Parting& parting;
  };

  TransferPtr late(TransferPtr transfer) {
    if (rank() == 0) return transfer;
    return std::make_unique<Late>(std::move(transfer), parting_);
  }

  MemoryWire wire_;
  Parting& parting_;
};

TEST(Group, NobodyLeavesBeforeTheOthersHaveWhatTheyHaveCalled) {
  Exchanges exchanges({0, 0});
  Parting parting;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      BriefGroup group([&] { return std::make_unique<LateWire>(exchanges, rank, parting); });
      const NDArray sum = all_reduce(group, "", Fold::kSum, array({1, 2}));
      group.end({});
      EXPECT_THAT(sum.to_vector<float>(), ElementsAre(2, 4));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(parting.has_left_early);
}

// Ranks wait for different calls: told after some seconds.
TEST(Group, RanksThatWaitForEachOtherAreToldSlow) {
  on_groups(2, [](Group& group) {
    const auto wait = [&] {
      if (group.rank() == 0) return barrier(group);
      all_reduce(group, "loss", Fold::kSum, array({1})).wait_to_read();
    };
    EXPECT_THAT(wait, ThrowsMessage<Error>(testing::AllOf(HasSubstr("rank 0 calls barrier"), HasSubstr("of loss"))));
  });
}

// One whose program works, and calls what the other waits for afterwards, is no such rank, however long it takes.
TEST(Group, ARankMayWorkForLongBetweenItsCallsSlow) {
  on_groups(2, [](Group& group) {
    const auto sum = [&] { return all_reduce(group, "loss", Fold::kSum, array({1})); };
    NDArray loss;
    if (group.rank() == 1) {
      loss = sum();
      std::this_thread::sleep_for(std::chrono::seconds(8));
    }
    barrier(group);
    if (group.rank() == 0) loss = sum();
    EXPECT_THAT(loss.to_vector<float>(), ElementsAre(2));
  });
}

// Each rank makes as many sums as the one with the most, and each knows when it is over, again and again.
TEST(Group, RanksWithLessDataTakePartInTheSumsOfOthers) {
  constexpr int kEpochs = 30;
  on_groups(kRanks, [](Group& group) {
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const int own = (group.rank() + epoch) % kRanks * 2, most = 2 * (kRanks - 1);
      int made = 0;
      const auto sum = [&](float value) {  // which one rank makes in another order
        const std::string first = group.rank() == 1 ? "b" : "a", second = group.rank() == 1 ? "a" : "b";
        const NDArray one = all_reduce(group, first, Fold::kSum, array({value}));
        const NDArray two = all_reduce(group, second, Fold::kSum, array({value}));
        float expected = 0;
        for (int rank = 0; rank < kRanks; ++rank) expected += made < (rank + epoch) % kRanks * 2 ? 1.0F : 0.0F;
        ++made;
        EXPECT_EQ(one.to_vector<float>()[0], expected);
        EXPECT_EQ(two.to_vector<float>()[0], expected);
      };
      for (int step = 0; step < own; ++step) sum(1);
      while (group.others_go_on()) sum(0);
      EXPECT_EQ(made, most);
    }
    barrier(group);
  });
}

TEST(Group, WhoHasJoinedIsToldWhatGoesWrong) {
  on_groups(2, [](Group& group) {
    if (group.rank() == 1) return;
    EXPECT_THAT([&] { group.others_go_on(); },
                ThrowsMessage<Error>(HasSubstr("rank 1 has ended, but rank 0 has joined")));
  });
  on_groups(2, [](Group& group) {
    const auto take_no_part = [&] {
      if (group.rank() == 1) return barrier(group);
      while (group.others_go_on()) {
      }
    };
    if (group.rank() == 0) {
      EXPECT_THAT(take_no_part, ThrowsMessage<Error>(HasSubstr("came back without a call")));
      return barrier(group);
    }
    take_no_part();
  });
}

}  // namespace
}  // namespace headrace::collective
