// Plans of recurrent layers, with the stand-in's cuDNN, or with the real one, which needs no GPU to say where weights
// lie.
#if __has_include(<cudnn_adv.h>)

#include "backend/cuda/dnn_rnn_plan.h"

#include <gtest/gtest.h>

#include "base/config.h"

namespace headrace {
namespace {

int64_t count_of_parameters(const DnnRnn& rnn) {
  const int64_t gates = rnn.cell == DnnCell::kLstm ? 4 : rnn.cell == DnnCell::kGru ? 3 : 1;
  const int64_t directions = rnn.is_bidirectional ? 2 : 1;
  int64_t count = 0;
  for (int64_t layer = 0; layer < rnn.layers; ++layer) {
    const int64_t columns = layer == 0 ? rnn.input : directions * rnn.output;
    count += directions * gates * rnn.state * (columns + rnn.output + 2);
    if (rnn.output < rnn.state) count += directions * rnn.output * rnn.state;
  }
  return count;
}

// As MXNet's files have them.
TEST(CudnnPlansOfLayersSlow, HaveTheirWeightsOneAfterTheOther) {
  if (config().cuda_dnn.empty()) GTEST_SKIP() << "a cuDNN that plans for a GPU that is there needs a handle of its own";
  ASSERT_TRUE(dnn_rnn_library());
  const auto handle = reinterpret_cast<cudnnHandle_t>(uintptr_t{1});  // kept, not looked at
  for (const DType dtype : {DType::kFloat32, DType::kFloat16})
    for (const DnnCell cell : {DnnCell::kRelu, DnnCell::kTanh, DnnCell::kLstm, DnnCell::kGru})
      for (const bool is_bidirectional : {false, true})
        for (const int64_t state : {6, 128, 650})
          for (const int64_t layers : {1, 3})
            for (const bool projects : {false, true}) {
              if (projects && cell != DnnCell::kLstm) continue;
              const DnnRnn rnn{cell,  dtype, is_bidirectional, 35, 20, 51, state, projects ? state / 2 - 1 : state,
                               layers};
              std::string why;
              const std::optional<DnnRnnPlan> plan = DnnRnnPlan::make(handle, rnn, why);
              ASSERT_TRUE(plan) << dtype_name(dtype) << ", cell " << static_cast<int>(cell) << ": " << why;
              EXPECT_TRUE(plan->sizes().moves.empty());
              EXPECT_EQ(plan->sizes().weights, static_cast<size_t>(count_of_parameters(rnn)) * item_size(dtype));
              EXPECT_GT(plan->sizes().reserve, size_t{0});
            }
}

}  // namespace
}  // namespace headrace

#endif
