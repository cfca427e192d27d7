// Kernels and their compiler: NVRTC where the toolkit is (`ctest -R cuda.nvrtc`), otherwise the stand-in for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "backend/cuda/compiler.h"
#include "backend/cuda/kernel_cache.h"
#include "base/config.h"
#include "device/kernel_module.h"
#include "device/registry.h"
#include "headrace/error.hpp"
#include "headrace/rtc.hpp"
#include "op/catalogue.h"
#include "op/formula/source_cuda.h"
#include "op/formula/transfer.h"
#include "op/kernel_table.h"
#include "op/pointwise.h"
#include "tests/cuda/beside_host.h"
#include "tests/cuda/stand_in/machine_code.h"
#include "tests/support/operator_samples.h"
#include "tests/support/raised.h"

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
         {KernelShape{.width = 4}, KernelShape{.width = 1}, KernelShape{.width = 0, .ndim = 3},
          KernelShape{.width = 0, .ndim = 2, .is_vast = true}}) {
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

// A sum of many values in an order that needs all of them at once.
constexpr const char* kManyRegisters = R"(
extern "C" __global__ void many(float *x) {
  float held[100];
  for (int i = 0; i < 100; ++i) held[i] = x[threadIdx.x + 1024 * i];
  __syncthreads();
  float sum = 0;
  for (int i = 99; i >= 0; --i) sum = sum * x[i] + held[i];
  x[threadIdx.x] = sum;
}
)";

TEST(CudaCompiler, MakesKernelsThatAMultiprocessorHasNoRoomFor) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  const rtc::CudaKernel kernel = rtc::CudaModule(kManyRegisters).get_kernel("many", "float *x");
  const NDArray x = as_in_context(NDArray::from(std::vector<float>(102400), {102400}), kGpu0);
  kernel.launch({x}, kGpu0, {1, 1, 1}, {256, 1, 1});
  EXPECT_NO_THROW(x.wait_to_read());
  kernel.launch({x}, kGpu0, {1, 1, 1}, {1024, 1, 1});
  EXPECT_THAT(test::raised_by([&] { x.wait_to_read(); }).what(), testing::HasSubstr("too many resources"));
}

TEST(CudaCompiler, KernelsHaveTheMemoryThatTheyDeclareAndThatOfTheLaunch) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  const rtc::CudaKernel kernel = rtc::CudaModule(R"(
extern "C" __global__ void both(float *x) {
  __shared__ float own[10240];
  extern __shared__ float given[];
  own[threadIdx.x * 40] = given[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = own[(255 - threadIdx.x) * 40] + given[255 - threadIdx.x];
}
)")
                                     .get_kernel("both", "float *x");
  const NDArray x = as_in_context(NDArray::from(std::vector<float>(256), {256}), kGpu0);
  kernel.launch({x}, kGpu0, {1, 1, 1}, {256, 1, 1}, 20480);
  EXPECT_NO_THROW(x.wait_to_read());
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

// A multiprocessor has 65536 registers, and a block 256 threads: several have room at a time. What lies in memory are
// digits of pi, for sines of large numbers, and what calls of long functions save.
constexpr unsigned kMostRegisters = 128, kMostStackBytes = 128;

// Compiles kernels, a few to a program, as it is programs that take time.
void compile_together(std::span<const FormulaKernel> kernels, int capability) {
  constexpr size_t kTogether = 12;
  for (size_t begin = 0; begin < kernels.size(); begin += kTogether) {
    const auto together = kernels.subspan(begin, std::min(kTogether, kernels.size() - begin));
    std::string image;
    ASSERT_NO_THROW(image = compile_kernel(kernels_source(together), capability)) << "sm_" << capability;
    const std::map<std::string, stand_in::Resources> resources = stand_in::resources_of(image.data());
    for (const FormulaKernel& kernel : together) {
      const auto found = resources.find(kernel.name);
      ASSERT_NE(found, resources.end()) << kernel.name << " for sm_" << capability;
      EXPECT_GT(found->second.registers, 0u) << kernel.name;
      EXPECT_LE(found->second.registers, kMostRegisters) << kernel.name << " for sm_" << capability;
      EXPECT_LE(found->second.stack_bytes, kMostStackBytes) << kernel.name << " for sm_" << capability;
    }
  }
}

// The formula of each operator, gradients among them, in these types by turns.
std::vector<FormulaKernel> all_formulas(std::span<const DType> dtypes, KernelShape shape) {
  std::vector<FormulaKernel> kernels;
  for (const OpDef& op : catalogue().all()) {
    if (!op.pointwise) continue;
    const Formula& formula = op.pointwise->formula;
    const DType dtype = dtypes[kernels.size() % dtypes.size()];
    kernels.push_back({.name = fmt::format("k{}_{}", kernels.size(), op.name),
                       .formula = formula,
                       .compute = compute_type_of(dtype),
                       .operands = operands(formula, dtype),
                       .shape = shape});
  }
  return kernels;
}

// What it computes in decides most; types in memory take turns.
TEST(CudaCompilerSlow, TakesEveryFormulaInEveryComputeType) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  std::map<ComputeType, std::vector<DType>> dtypes;
  for (const DType dtype : kAllDTypes) dtypes[compute_type_of(dtype)].push_back(dtype);
  for (const auto& [compute, of_it] : dtypes) {
    const std::vector<FormulaKernel> kernels = all_formulas(of_it, {.width = 4});
    EXPECT_GT(kernels.size(), 150u);
    compile_together(kernels, 90);
  }
}

TEST(CudaCompilerSlow, TakesEveryFormulaForEveryGpu) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  constexpr DType kDTypes[] = {DType::kFloat32, DType::kBfloat16};
  for (const int capability : {75, 80, 100, 120})
    compile_together(all_formulas(kDTypes, {.width = 0, .ndim = 2}), capability);
}

constexpr DType kDTypesOfEveryKind[] = {DType::kFloat32, DType::kFloat16, DType::kInt64};

// Whatever the kernels that are no formulas are compiled for: each operator's samples in dtypes of every kind. Their
// results count elsewhere; with NVRTC they are none, as there is no GPU. The stand-in looks whether a multiprocessor
// has the registers and the memory that their blocks take.
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
        EXPECT_EQ(made.error.find("too many resources"), std::string::npos) << op.name << ": " << made.error;
        ++count;
        if (sample.inputs.empty()) break;
      }
    }
  }
  EXPECT_GT(count, 500);
}

// Long rows are sorted otherwise than those of samples.
TEST(CudaCompilerSlow, SortsLongRowsOfEveryDType) {
  if (is_stand_in()) GTEST_SKIP() << "ctest -R cuda.nvrtc asks the real compiler";
  for (const DType dtype : kAllDTypes) {
    const NDArray x = as_in_context(cast_to(NDArray::from(std::vector<float>(600'000), {600'000}), dtype), kGpu0);
    for (const char* op : {"sort", "argsort"})
      EXPECT_NO_THROW(call(op, {x}).wait_to_read()) << op << " of " << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace headrace
