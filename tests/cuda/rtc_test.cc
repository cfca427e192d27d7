// Kernels of a program's own (headrace/rtc.hpp).
#include "headrace/rtc.hpp"

#include <gtest/gtest.h>

#include "device/registry.h"
#include "headrace/devices.hpp"
#include "headrace/nd.hpp"
#include "op/invoke.h"
#include "tests/support/arrays.h"
#include "tests/support/gpus.h"
#include "tests/support/raised.h"

namespace headrace {
namespace {

constexpr const char* kAxpy = R"(
extern "C" __global__ void axpy(const float *x, float *y, float alpha) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  y[i] += alpha * x[i];
}
)";

NDArray floats_on_gpu(const std::vector<float>& values, const Shape& shape) {
  return as_in_context(NDArray::from(values, shape), kGpu0);
}

std::string raised(auto&& call) { return test::raised_by(call).what(); }

std::vector<float> values_of(const NDArray& array) { return as_in_context(array, {}).to_vector<float>(); }

TEST(CudaModule, LaunchesWhatTheProgramWrote) {
  const rtc::CudaModule module(kAxpy);
  const rtc::CudaKernel axpy = module.get_kernel("axpy", "const float *x, float *y, float alpha");
  const NDArray x = floats_on_gpu({1, 2, 3, 4, 5, 6}, {6}), y = floats_on_gpu({1, 1, 1, 1, 1, 1}, {6});
  axpy.launch({x, y, 3.0}, kGpu0, {2, 1, 1}, {3, 1, 1});
  axpy.launch({y, x, int64_t{1}}, kGpu0, {1, 1, 1}, {6, 1, 1});
  EXPECT_EQ(values_of(y), (std::vector<float>{4, 7, 10, 13, 16, 19}));
  EXPECT_EQ(values_of(x), (std::vector<float>{5, 9, 13, 17, 21, 25}));
  EXPECT_EQ(axpy.name(), "axpy");
}

TEST(CudaModule, TakesArgumentsOfEveryTypeAsTheyLie) {
  const rtc::CudaModule module(R"(
extern "C" __global__ void mixed(bool b, double d, char c, const long long *in, unsigned short s, double *out, int i) {
  out[0] = b + d + c + in[0] + s + i;
})");
  const NDArray in = as_in_context(NDArray::from(std::vector<int64_t>{1000}, {1}), kGpu0);
  const NDArray out = as_in_context(NDArray::from(std::vector<double>{0}, {1}), kGpu0);
  module.get_kernel("mixed", "bool, double d, char, const int64_t*, uint16_t, double *out, int")
      .launch({int64_t{1}, 0.25, int64_t{-3}, in, int64_t{65535}, out, -7.9}, kGpu0, {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(as_in_context(out, {}).to_vector<double>()[0], 1 + 0.25 - 3 + 1000 + 65535 - 7);
}

TEST(CudaModule, FindsTemplatesByTheirExports) {
  const rtc::CudaModule module(R"(
template <class T>
__global__ void fill(T *y, T value) { y[threadIdx.x] = value; })",
                               {}, {"fill<float>", "fill<double>"});
  const NDArray y = floats_on_gpu({0, 0}, {2});
  module.get_kernel("fill<float>", "float *y, float value").launch({y, 2.5}, kGpu0, {1, 1, 1}, {2, 1, 1});
  EXPECT_EQ(values_of(y), (std::vector<float>{2.5, 2.5}));
  EXPECT_NE(raised([&] { module.get_kernel("fill<int>", "int *y, int value"); }).find("exports"), std::string::npos);
}

TEST(CudaModule, RunsBlocksAlongThreeAxesWithSharedMemory) {
  const rtc::CudaModule module(R"(
extern "C" __global__ void turned(const float *x, float *y) {
  extern __shared__ float values[];
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int count = blockDim.x * blockDim.y * blockDim.z;
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  values[thread] = x[block * count + thread];
  __syncthreads();
  y[block * count + thread] = values[count - 1 - thread];
})");
  std::vector<float> values(2 * 3 * 2 * 24), expected(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
    expected[i] = static_cast<float>(i / 24 * 24 + 23 - i % 24);
  }
  const NDArray x = floats_on_gpu(values, {288}), y = floats_on_gpu(values, {288});
  const rtc::CudaKernel turned = module.get_kernel("turned", "const float *, float *");
  turned.launch({x, y}, kGpu0, {2, 3, 2}, {4, 3, 2}, 24 * sizeof(float));
  EXPECT_EQ(values_of(y), expected);
  constexpr int64_t kMuch = 64 << 10;  // more than a kernel gets without being announced
  turned.launch({y, x}, kGpu0, {2, 3, 2}, {4, 3, 2}, kMuch);
  EXPECT_EQ(values_of(x), values);
}

TEST(CudaModule, WritesIntoViewsOfArrays) {
  const rtc::CudaModule module(kAxpy);
  const NDArray x = floats_on_gpu({1, 2, 3, 4, 5, 6}, {2, 3}), y = floats_on_gpu({0, 0, 0, 0, 0, 0}, {3, 2});
  const NDArray turned = view_of(y, {.shape = {2, 3}, .strides = {1, 2}, .offset = 0});
  module.get_kernel("axpy", "const float*, float*, float").launch({x, turned, 1.0}, kGpu0, {1, 1, 1}, {6, 1, 1});
  EXPECT_EQ(values_of(y), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(CudaModule, IsCompiledForEachGpuThatItIsUsedOn) {
  if (device_count(DeviceType::kGpu) < 2) GTEST_SKIP() << "there is one GPU";
  const rtc::CudaKernel axpy = rtc::CudaModule(kAxpy).get_kernel("axpy", "const float*, float*, float");
  const NDArray x = as_in_context(NDArray::from(std::vector<float>{1, 2}, {2}), kGpu1);
  const NDArray y = as_in_context(NDArray::from(std::vector<float>{1, 1}, {2}), kGpu1);
  axpy.launch({x, y, 2.0}, kGpu1, {1, 1, 1}, {2, 1, 1});
  EXPECT_EQ(values_of(y), (std::vector<float>{3, 5}));
}

TEST(CudaModule, SaysWhatDoesNotFit) {
  EXPECT_NE(raised([] { rtc::CudaModule("nothing of C"); }).find("does not compile"), std::string::npos);
  const rtc::CudaModule module(kAxpy);
  EXPECT_NE(raised([&] { module.get_kernel("saxpy", ""); }).find("no kernel is named 'saxpy'"), std::string::npos);
  const rtc::CudaKernel axpy = module.get_kernel("axpy", "const float*, float*, int");
  const NDArray x = floats_on_gpu({1}, {1}), here = NDArray::from(std::vector<float>{1}, {1});
  const NDArray halves = as_in_context(NDArray::from(std::vector<double>{1}, {1}), kGpu0);
  const auto refusal = [&](const std::vector<rtc::Argument>& arguments, rtc::Extents grid = {1, 1, 1},
                           rtc::Extents block = {1, 1, 1}, Device device = kGpu0) {
    return raised([&] { axpy.launch(arguments, device, grid, block); });
  };
  const std::pair<std::string, const char*> cases[] = {
      {refusal({x, x}), "3 arguments are expected, got 2"},
      {refusal({x, int64_t{1}, int64_t{1}}), "argument 1 is expected to be an array"},
      {refusal({x, x, x}), "argument 2 is expected to be a number"},
      {refusal({x, halves, 1.0}), "argument 1 is expected to be of float32, but is of float64"},
      {refusal({x, here, 1.0}), "argument 1 lies on cpu(0), but the kernel is launched on gpu(0)"},
      {refusal({x, x, 1e10}), "argument 2 is 10000000000, which int32 does not hold"},
      {refusal({x, x, int64_t{1} << 31}), "argument 2 is 2147483648, which int32 does not hold"},
      {refusal({x, x, 1.0}, {0, 1, 1}), "grid_dims[0] must be from 1"},
      {refusal({x, x, 1.0}, {1, 1, 1}, {1, 1, 65}), "block_dims[2] must be from 1 to 64, got 65"},
      {refusal({x, x, 1.0}, {1, 1, 1}, {64, 32, 1}), "a block has at most 1024 threads"},
      {refusal({here, here, 1.0}, {1, 1, 1}, {1, 1, 1}, {}), "launched on a GPU, not on cpu(0)"}};
  for (const auto& [message, part] : cases) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(CudaModule, FailsBehindWhatItReads) {
  const rtc::CudaKernel axpy = rtc::CudaModule(kAxpy).get_kernel("axpy", "const float*, float*, float");
  const NDArray indices = as_in_context(NDArray::from(std::vector<float>{7}, {1}), kGpu0);
  const NDArray wrong = call("take", {floats_on_gpu({1}, {1}), indices}, {{"mode", "raise"}});
  const NDArray y = floats_on_gpu({1}, {1});
  axpy.launch({wrong, y, 1.0}, kGpu0, {1, 1, 1}, {1, 1, 1});
  EXPECT_NE(raised([&] { y.wait_to_read(); }).find("out of bounds"), std::string::npos);
}

}  // namespace
}  // namespace headrace
