// Trainer on several ranks, threads here, that share the updates of large parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <headrace/headrace.hpp>
#include <mutex>

#include "headrace/communicator.hpp"
#include "kvstore/collective_communicator.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/memory_wire.h"

namespace headrace {
namespace {

namespace nn = gluon::nn;
using collective::Group;
using kvstore::Capability;

constexpr int kRanks = 3;
constexpr int64_t kIn = 601, kOut = 501;  // a weight of 1.2 MB

// Which the kinds 'whole' and 'shared' make stores for in this thread.
Group*& group_here() {
  thread_local Group* here = nullptr;
  return here;
}

void register_kinds() {
  static const bool is_done = [] {
    for (const char* kind : {"whole", "shared"})
      kvstore::register_kind({kind,
                              "ranks are threads",
                              [](const std::string& name, const kvstore::Options& options) {
                                return kvstore::make_store(
                                    name,
                                    kvstore::make_collective_communicator(
                                        *group_here(), kvstore::make_device_communicator(options), name == "shared"));
                              },
                              {Capability::kOptimizer, Capability::kDistributed}});
    return true;
  }();
  ASSERT_TRUE(is_done);
}

class Learner {
 public:
  Learner(const char* kind, const char* optimizer)
      : trainer_((net_.add(nn::Dense(kOut, {.activation = "relu", .in_units = kIn}), nn::Dense(2, {.in_units = kOut})),
                  net_.initialize(init::Zero(), {cpu()}), set_values(), net_.collect_params()),
                 optimizer, {{"learning_rate", 0.01}}, {.kvstore = kind}) {}

  void learn(int begin, int end) {
    for (int step = begin; step < end; ++step) {
      const auto seed = 10 * static_cast<uint64_t>(step) + static_cast<uint64_t>(group_here()->rank());
      NDArray loss;
      {
        autograd::RecordScope scope;
        loss = nd::sum(nd::square(net_(varied({4, kIn}, DType::kFloat32, seed))));
      }
      autograd::backward(loss);
      trainer_.step(4 * kRanks);
    }
  }

  void go_on_from(const Learner& other, const std::string& path) {
    const gluon::ParameterDict from = other.net_.collect_params();
    for (const auto& [name, parameter] : net_.collect_params()) parameter->set_data(from.at(name)->data().detach());
    trainer_.load_states(path);
  }

  std::string bits() const {
    std::string all;
    for (const auto& [name, parameter] : net_.collect_params()) all += bytes_of(parameter->data());
    return all;
  }

  gluon::Trainer& trainer() { return trainer_; }

 private:
  void set_values() const {
    uint64_t seed = 7;
    for (const auto& [name, parameter] : net_.collect_params())
      parameter->set_data(varied(parameter->data().shape(), DType::kFloat32, seed++));
  }

  nn::Sequential net_;
  gluon::Trainer trainer_;
};

TEST(TrainerThatSharesUpdates, HasTheBitsAndTheStatesOfOneThatDoesNot) {
  register_kinds();
  for (const char* optimizer : {"sgd", "adam", "ftml"})
    collective::on_groups(kRanks, [&](Group& group) {
      group_here() = &group;
      Learner whole("whole", optimizer), shared("shared", optimizer);
      const std::string own = std::to_string(group.rank());
      for (Learner* one : {&whole, &shared}) {
        const std::string path = own_path(one == &whole ? "whole" + own : "shared" + own);
        one->learn(0, 2);
        one->trainer().save_states(path);
        Learner resumed(one == &whole ? "shared" : "whole", optimizer);
        resumed.go_on_from(*one, path);
        one->learn(2, 4);
        resumed.learn(2, 4);
        EXPECT_EQ(resumed.bits(), one->bits()) << optimizer;
        std::filesystem::remove(path);
      }
      EXPECT_EQ(shared.bits(), whole.bits()) << optimizer;
    });
}

}  // namespace
}  // namespace headrace
