// Kernels and their compiler: NVRTC where the toolkit is (`ctest -R cuda.nvrtc`), otherwise the stand-in for it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "backend/cuda/compiler.h"
#include "backend/cuda/kernel_cache.h"
#include "base/config.h"
#include "device/kernel_module.h"
#include "device/registry.h"
#include "headrace/error.hpp"
#include "op/catalogue.h"
#include "op/formula/source_cuda.h"
#include "op/kernel_table.h"
#include "op/pointwise.h"
#include "tests/cuda/beside_host.h"
#include "tests/support/operator_samples.h"

namespace headrace {
namespace {

std::vector<DType> operands(const Formula& formula, DType dtype) {
  return std::vector<DType>(static_cast<size_t>(formula.num_inputs) + formula.outputs.size(), dtype);
}

// The stand-in compiles what tests of results ask for; what more there is counts with the real compiler alone.
bool is_stand_in() { return config().cuda_compiler == STAND_IN_LIBRARY; }

TEST(CudaCompiler, SaysWhatIsWrongWithASource) {
  try {
    compile_kernel("extern \"C\" __global__ void wrong() { not a statement; }", 90);
    FAIL() << "it compiles";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("does not compile"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("not"), std::string::npos);
  }
}

// One formula with all instructions, for each type that it can compute in.
TEST(CudaCompiler, TakesEveryInstructionInEveryType) {
  Formula formula{.num_inputs = 3, .num_parameters = 1};
  for (int code = 0; code < kOpcodeCount; ++code)
    formula.outputs.push_back(Expr::make(static_cast<Opcode>(code), input(0), input(1), input(2) * parameter(0) + 0.1));
  const std::pair<ComputeType, DType> types[] = {{ComputeType::kFloat32, DType::kFloat32},
                                                 {ComputeType::kFloat64, DType::kFloat64},
                                                 {ComputeType::kInt32, DType::kInt8},
                                                 {ComputeType::kInt64, DType::kUint32},
                                                 {ComputeType::kUint64, DType::kUint64}};
  for (const auto& [compute, dtype] : types) {
    const std::string source = kernel_source(formula, compute, operands(formula, dtype), {.width = 1});
    EXPECT_NO_THROW(EXPECT_FALSE(compile_kernel(source, 90).empty())) << static_cast<int>(compute);
  }
}

TEST(CudaCompiler, TakesEveryTypeInMemoryAndEveryShape) {
  const Formula formula{.num_inputs = 2, .outputs = {input(0) * input(1) + 2, exp(input(0))}};
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kBool, DType::kInt16, DType::kUint8}) {
    for (const KernelShape shape :
         {KernelShape{.width = 4}, KernelShape{.width = 1}, KernelShape{.width = 0, .ndim = 3}}) {
      const std::vector<DType> types = {dtype, DType::kFloat32, DType::kFloat32, dtype};
      EXPECT_NO_THROW(compile_kernel(kernel_source(formula, ComputeType::kFloat32, types, shape), 90));
    }
  }
}

TEST(CudaCompiler, ServesGpusFromTuringOn) {
  const Formula formula{.num_inputs = 1, .outputs = {tanh(input(0))}};
  const std::string source =
      kernel_source(formula, ComputeType::kFloat32, operands(formula, DType::kFloat16), {.width = 4});
  for (const int capability : {75, 80, 86, 90, 100, 120, 990})
    EXPECT_NO_THROW(EXPECT_FALSE(compile_kernel(source, capability).empty())) << capability;
  EXPECT_THROW(compile_kernel(source, 20), Error);
}

TEST(CudaCompiler, TakesTheSourceOfAProgramAsItStands) {
  const KernelSource source{
      .text = "template <class T>\n__global__ void fill(T *y, T value) { y[threadIdx.x] = value; }",
      .options = {"-DUNUSED=1"},
      .exports = {"fill<float>", "fill<double>"}};
  const CompiledSource compiled = compile_source(source, 90);
  ASSERT_EQ(compiled.names.size(), 2u);
  for (const auto& [name, lowered] : compiled.names) {
    EXPECT_NE(lowered, name);
    EXPECT_NE(compiled.image.find(lowered), std::string::npos) << name;
  }
}

TEST(CudaCompiler, CompilesForTheArchitectureThatOptionsName) {
  const KernelSource source{
      .text = "extern \"C\" __global__ void nothing() {}", .options = {"--gpu-architecture=compute_80"}, .exports = {}};
  const std::string image = compile_source(source, 90).image;
  EXPECT_TRUE(is_stand_in() || image.find(".target sm_80") != std::string::npos);
  EXPECT_NE(image.find("nothing"), std::string::npos);
}

TEST(KernelCache, MakesAKernelOnce) {
  int count = 0;
  const auto make = [&] {
    ++count;
    return std::string("a kernel\0with zeros", 19);
  };
  const std::string key =
      "a key of this test " + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  EXPECT_EQ(cached_kernel(key, make).size(), 19u);
  EXPECT_EQ(cached_kernel(key, make), std::string("a kernel\0with zeros", 19));
  EXPECT_EQ(count, 1);
  cached_kernel(key + " and another", make);
  EXPECT_EQ(count, 2);
}

TEST(KernelCache, MakesAKernelOnceForAllWhoAskAtTheSameTime) {
  std::atomic<int> count{0};
  const std::string key =
      "a key for many " + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
  std::vector<std::string> kernels(6);
  std::vector<std::thread> threads;
  for (std::string& kernel : kernels) {
    threads.emplace_back([&] {
      kernel = cached_kernel(key, [&] {
        ++count;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return std::string("made");
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 1);
  for (const std::string& kernel : kernels) EXPECT_EQ(kernel, "made");
}

// Slow: half a second for each.
TEST(CudaCompilerSlow, TakesEveryOperatorAndItsGradients) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  int count = 0;
  for (const OpDef& op : catalogue().all()) {
    if (!op.pointwise) continue;
    const Formula& formula = op.pointwise->formula;
    const std::string source =
        kernel_source(formula, ComputeType::kFloat32, operands(formula, DType::kFloat32), {.width = 4});
    EXPECT_NO_THROW(compile_kernel(source, 90)) << op.name;
    ++count;
  }
  EXPECT_GT(count, 150);
}

constexpr DType kDTypesOfEveryKind[] = {DType::kFloat32, DType::kFloat16, DType::kInt64};

// Whatever the kernels that are no formulas are compiled for: each operator's samples in dtypes of every kind. Their
// results count elsewhere; with NVRTC they are none, as there is no GPU.
TEST(CudaCompilerSlow, TakesTheKernelsOfEveryOperatorInDTypesOfEveryKind) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  int count = 0;
  for (const OpDef& op : catalogue().all()) {
    if (op.pointwise || !kernels_of(DeviceType::kGpu)->find(op)) continue;
    for (Sample sample : op.samples) {
      for (const DType dtype : kDTypesOfEveryKind) {
        for (SampleArray& input : sample.inputs) input.dtype = dtype;
        const test::Outcome made = test::outcome(op, sample, test::Way::kAlone, kGpu0);
        EXPECT_EQ(made.error.find("does not compile"), std::string::npos) << op.name << ": " << made.error;
        ++count;
        if (sample.inputs.empty()) break;
      }
    }
  }
  EXPECT_GT(count, 500);
}

}  // namespace
}  // namespace headrace
