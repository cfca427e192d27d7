// Operators that others call trust what was checked before; a file calls them without.
#include "op/expect.h"

#include "tests/support/arrays.h"

namespace headrace {
namespace {

using MakeAttrs = AttrsPtr (*)(const OpDef&);

struct Call {
  const char* op;
  std::vector<Shape> inputs;  // that fit
  MakeAttrs attrs = [](const OpDef& op) { return op.default_attrs; };
};

void PrintTo(const Call& call, std::ostream* to) { *to << call.op; }

NDArray ones(const Shape& shape) { return full(shape, 1, DType::kFloat32, Device{}); }

void run(const Call& call, std::span<const NDArray> inputs) {
  const OpDef& op = find_op(call.op);
  for (const NDArray& result : invoke_all(op, call.attrs(op), inputs)) result.wait_to_read();
}

class Expect : public testing::TestWithParam<Call> {};

// Labels may be more than are needed.
TEST_P(Expect, ArraysOfOtherShapesAreRefused) {
  std::vector<NDArray> fitting;
  for (const Shape& shape : GetParam().inputs) fitting.push_back(ones(shape));
  EXPECT_NO_THROW(run(GetParam(), fitting));
  for (size_t k = 0; k < fitting.size(); ++k)
    for (const Shape& other : {Shape{}, Shape{1}, Shape{0}, Shape{7, 5, 3}}) {
      if (k == 1 && other.size() == 3 && std::string_view(GetParam().op).ends_with("Output")) continue;
      std::vector<NDArray> inputs = fitting;
      inputs[k] = ones(other);
      EXPECT_THROW(run(GetParam(), inputs), Error)
          << fmt::format("{}: input {} of {}", GetParam().op, k, to_string(other));
    }
}

INSTANTIATE_TEST_SUITE_P(Operators, Expect,
                         testing::Values(Call{"_backward_softmax",
                                              {{2, 3}, {2, 3}, {2}},
                                              [](const OpDef& op) {
                                                return attrs_of(op, {{"axis", int64_t{-1}}, {"scale", 1.0}});
                                              }},
                                         Call{"_backward_log_softmax",
                                              {{2, 3}, {2, 3}, {3}},
                                              [](const OpDef& op) {
                                                return attrs_of(op, {{"axis", int64_t{0}}, {"scale", 1.0}});
                                              }},
                                         Call{"_backward_SoftmaxOutput", {{2, 3}, {2}}},
                                         Call{"_backward_SVMOutput", {{2, 3}, {2}}},
                                         Call{"_backward_GroupNorm", {{2, 4, 3}, {2, 4, 3}, {2}, {2, 2}, {2, 2}}},
                                         Call{"_backward_BatchNorm",
                                              {{2, 3, 2}, {2, 3, 2}, {3}, {3}, {3}, {3}},
                                              [](const OpDef& op) {
                                                return attrs_of(op, {{"axis", int64_t{1}}});
                                              }},
                                         Call{"_backward_LayerNorm", {{2, 3}, {2, 3}, {3}}},
                                         Call{"_backward_SequenceLast",
                                              {{2, 3}, {2}},
                                              [](const OpDef& op) {
                                                return attrs_of(op, {{"axis", int64_t{0}}, {"length", int64_t{4}}});
                                              }},
                                         Call{"_backward_take",
                                              {{2, 3}, {2}},
                                              [](const OpDef& op) {
                                                return attrs_of(op, {{"axis", int64_t{0}}, {"shape", Shape{5, 3}}});
                                              }},
                                         Call{"_backward_pick",
                                              {{2}, {2}},
                                              [](const OpDef& op) {
                                                return attrs_of(op, {{"axis", int64_t{1}}, {"shape", Shape{2, 3}}});
                                              }}),
                         [](const auto& test) { return std::string(test.param.op + 1); });

TEST(Expect, AttributesThatFitNoArrayAreRefused) {
  const NDArray rows[] = {ones({2, 3}), ones({2})};
  EXPECT_THROW(run({"_backward_take",
                    {},
                    [](const OpDef& op) {
                      return attrs_of(op, {{"axis", int64_t{3}}, {"shape", Shape{5, 3}}});
                    }},
                   rows),
               Error);
  EXPECT_THROW(run({"_backward_take",
                    {},
                    [](const OpDef& op) {
                      return attrs_of(op, {{"axis", int64_t{0}}, {"shape", Shape{-5, 3}}});
                    }},
                   rows),
               Error);
  EXPECT_THROW(run({"_backward_pick",
                    {},
                    [](const OpDef& op) {
                      return attrs_of(op, {{"axis", int64_t{2}}, {"shape", Shape{2, 3}}});
                    }},
                   rows),
               Error);
  EXPECT_THROW(run({"_backward_SequenceLast",
                    {},
                    [](const OpDef& op) {
                      return attrs_of(op, {{"axis", int64_t{7}}, {"length", int64_t{4}}});
                    }},
                   rows),
               Error);
  EXPECT_THROW(run({"_backward_SequenceLast",
                    {},
                    [](const OpDef& op) {
                      return attrs_of(op, {{"axis", int64_t{0}}, {"length", int64_t{-4}}});
                    }},
                   rows),
               Error);
}

}  // namespace
}  // namespace headrace
