// Plans of convolutions, with the stand-in's cuDNN, or with the real one, which needs no GPU to make them.
#if __has_include(<cudnn_graph.h>)

#include "backend/cuda/dnn_plan.h"

#include <gtest/gtest.h>

#include "base/config.h"

namespace headrace {
namespace {

struct PlannedShapes {
  Shape x, w, y, stride, dilate, pad;
};

const PlannedShapes kPlanned[] = {
    {{32, 64, 56, 56}, {64, 64, 3, 3}, {32, 64, 56, 56}, {1, 1}, {1, 1}, {1, 1}},
    {{32, 64, 56, 56}, {256, 64, 1, 1}, {32, 256, 56, 56}, {1, 1}, {1, 1}, {0, 0}},
    {{32, 3, 64, 64}, {64, 3, 5, 5}, {32, 64, 32, 32}, {2, 2}, {1, 1}, {2, 2}},
    {{3, 4, 8, 7}, {6, 2, 3, 3}, {3, 6, 4, 7}, {2, 1}, {1, 2}, {1, 2}},
    {{2, 3, 1, 11}, {4, 3, 1, 3}, {2, 4, 1, 6}, {1, 2}, {1, 1}, {0, 1}},
    {{2, 2, 5, 6, 4}, {3, 2, 2, 3, 1}, {2, 3, 3, 3, 4}, {1, 2, 1}, {2, 1, 1}, {0, 1, 0}},
    {{32, 64, 56, 56}, {64, 1, 3, 3}, {32, 64, 56, 56}, {1, 1}, {1, 1}, {1, 1}},
};

// A plan is made for addresses of this alignment, of which it asks nothing else.
DnnTensor at_address(uintptr_t alignment, const Shape& shape, bool channels_last) {
  return {reinterpret_cast<void*>(alignment), shape,
          channels_last ? channels_last_strides(shape) : contiguous_strides(shape)};
}

TEST(CudnnPlansSlow, AreMadeForEveryPassTypeAndLayout) {
  if (config().cuda_dnn.empty()) GTEST_SKIP() << "a cuDNN that plans for a GPU that is there needs a handle of its own";
  ASSERT_TRUE(dnn_library());
  const auto handle = reinterpret_cast<cudnnHandle_t>(uintptr_t{1});  // kept, not looked at
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16})
    for (const DnnPass pass : {DnnPass::kForward, DnnPass::kData, DnnPass::kWeight})
      for (const bool channels_last : {true, false})
        for (const uintptr_t alignment : {uintptr_t{256}, static_cast<uintptr_t>(item_size(dtype))})
          for (const PlannedShapes& s : kPlanned) {
            const DnnConvolution convolution{pass,
                                             dtype,
                                             at_address(alignment, s.x, channels_last),
                                             at_address(alignment, s.w, channels_last),
                                             at_address(alignment, s.y, channels_last),
                                             s.stride,
                                             s.dilate,
                                             s.pad};
            std::string why;
            const std::vector<DnnPlan> plans = DnnPlan::candidates(handle, convolution, 3, why);
            ASSERT_FALSE(plans.empty()) << dtype_name(dtype) << ", pass " << static_cast<int>(pass) << ", x "
                                        << std::string(to_string(s.x)) << ", aligned to " << alignment << ": " << why;
            for (const DnnPlan& plan : plans)
              EXPECT_LE(plan.workspace_bytes(), static_cast<size_t>(DnnPlan::kMostWorkspace));
          }
}

}  // namespace
}  // namespace headrace

#endif
