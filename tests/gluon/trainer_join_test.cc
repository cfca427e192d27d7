// Trainer::join() of ranks that have different amounts of data; the ranks are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <headrace/headrace.hpp>

#include "kvstore/collective_communicator.h"
#include "tests/support/arrays.h"
#include "tests/support/memory_wire.h"

namespace headrace {
namespace {

using kvstore::Capability;
using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::ThrowsMessage;

constexpr int kJoiners = 3;
constexpr int kJoinEpochs = 3;
constexpr int64_t kJoinBatch = 12;

// That of the rank which this thread is.
collective::Group*& own_group() {
  thread_local collective::Group* group = nullptr;
  return group;
}

void register_joined() {
  static const bool is_done = [] {
    kvstore::register_kind({"joined",
                            "ranks are threads",
                            [](const std::string& name, const kvstore::Options&) {
                              return kvstore::make_store(name, kvstore::make_collective_communicator(
                                                                   *own_group(), kvstore::make_host_communicator()));
                            },
                            {Capability::kOptimizer, Capability::kDistributed}});
    return true;
  }();
  ASSERT_TRUE(is_done);
}

void on_ranks(const std::function<void(int rank)>& body) {
  register_joined();
  collective::on_groups(kJoiners, [&](collective::Group& group) {
    own_group() = &group;
    body(group.rank());
  });
}

gluon::ParameterDict two_parameters() {
  gluon::ParameterDict made;
  for (const char* name : {"used", "unused"}) {
    made[name] = std::make_shared<gluon::Parameter>(name, Shape{4});
    made[name]->initialize(init::One());
  }
  return made;
}

// Writes the gradients of batches of these numbers.
void learn_from(const gluon::ParameterDict& parameters, const std::vector<uint64_t>& numbers, bool uses_both) {
  NDArray loss;
  {
    autograd::RecordScope scope;
    const NDArray used = parameters.at("used")->data(), unused = parameters.at("unused")->data();
    loss = used * 0;
    for (const uint64_t number : numbers) {
      const NDArray batch = varied({4}, DType::kFloat32, number);
      loss = loss + used * used * batch;
      if (uses_both) loss = loss + unused * batch;
    }
  }
  autograd::backward(loss);
}

int batches_of(int rank, int epoch) { return 2 * ((rank + epoch) % kJoiners); }
uint64_t batch_number(int rank, int epoch, int step) { return static_cast<uint64_t>(100 * rank + 10 * epoch + step); }

std::vector<float> joined_values(const gluon::ParameterDict& parameters) {
  std::vector<float> all;
  for (const auto& [name, parameter] : parameters)
    for (float value : parameter->data().to_vector<float>()) all.push_back(value);
  return all;
}

const gluon::OptimizerParams kSettings{{"learning_rate", 0.5}, {"momentum", 0.9}, {"wd", 0.01}};

// What one process learns from the sums that all ranks make.
std::vector<float> trained_alone(bool uses_both) {
  const gluon::ParameterDict alone = two_parameters();
  gluon::Trainer trainer(alone, "sgd", kSettings);
  for (int epoch = 0; epoch < kJoinEpochs; ++epoch)
    for (int step = 0; step < 2 * (kJoiners - 1); ++step) {
      std::vector<uint64_t> numbers;
      for (int rank = 0; rank < kJoiners; ++rank)
        if (step < batches_of(rank, epoch)) numbers.push_back(batch_number(rank, epoch, step));
      learn_from(alone, numbers, uses_both);
      trainer.step(kJoinBatch, !uses_both);
    }
  return joined_values(alone);
}

TEST(TrainerJoin, RanksWithLessDataTakePartWithZeros) {
  for (const bool uses_both : {true, false}) {
    const std::vector<float> expected = trained_alone(uses_both);
    for (const bool on_store : {true, false}) {
      std::vector<std::vector<float>> found(kJoiners);
      on_ranks([&](int rank) {
        const gluon::ParameterDict own = two_parameters();
        gluon::Trainer trainer(own, "sgd", kSettings, {.kvstore = "joined", .update_on_kvstore = on_store});
        for (int epoch = 0; epoch < kJoinEpochs; ++epoch) {
          for (int step = 0; step < batches_of(rank, epoch); ++step) {
            learn_from(own, {batch_number(rank, epoch, step)}, uses_both);
            trainer.step(kJoinBatch, !uses_both);
          }
          trainer.join(kJoinBatch, !uses_both);
        }
        found[static_cast<size_t>(rank)] = joined_values(own);
      });
      for (const std::vector<float>& values : found) {
        EXPECT_EQ(values, found[0]) << uses_both << on_store;
        EXPECT_THAT(values, Pointwise(FloatNear(1e-5F), expected)) << uses_both << on_store;
      }
    }
  }
}

TEST(TrainerJoin, WithoutOtherRanksItDoesNothing) {
  const gluon::ParameterDict own = two_parameters();
  gluon::Trainer trainer(own, "sgd");
  trainer.join(kJoinBatch);
  EXPECT_THAT(joined_values(own), Each(1));
  EXPECT_EQ(kind_of([&] { trainer.join(0); }), ErrorKind::kValue);
}

TEST(TrainerJoin, ARankThatHasEndedIsNamed) {
  on_ranks([](int rank) {
    const gluon::ParameterDict own = two_parameters();
    gluon::Trainer trainer(own, "sgd", {}, {.kvstore = "joined"});
    trainer.step(kJoinBatch, true);
    if (rank == 1) return;
    EXPECT_THAT([&] { trainer.join(kJoinBatch); }, ThrowsMessage<Error>(HasSubstr("rank 1 has ended")));
  });
}

}  // namespace
}  // namespace headrace
