// Kernels of formulas in CUDA C++: a formula written as source for the compiler of the GPU. What each instruction means
// is said in op/formula/scalar.h, for the host and for the GPU alike.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headrace/dtype.hpp"
#include "op/formula/expr.h"
#include "op/formula/opcode.h"

namespace headrace {

class KernelArguments;

// The work of kernels of formulas, see kernel_name().
inline constexpr const char* kFormulaKernel = "pointwise";

// How a kernel goes over its operands, see op/formula/device/pointwise.cuh.
struct KernelShape {
  int width = 1;         // elements at a time, of operands without gaps; 0: with strides
  int ndim = 1;          // dimensions of the strides
  bool is_vast = false;  // with strides: there are more elements than 32 bits count
};

// What kernels call values of a compute type.
std::string compute_name(ComputeType type);

// A struct of namespace headrace that computes one value of each output, as pointwise.cuh says.
std::string formula_struct(const char* name, const Formula& formula, ComputeType compute,
                           std::span<const DType> operands);

// The parameters of a formula as its kernel reads them: at least one.
void add_parameters(KernelArguments& arguments, ComputeType compute, std::span<const double> parameters);

// A kernel with one argument, device::Arguments. `operands` are the types in memory of the inputs, then of the outputs.
struct FormulaKernel {
  std::string name;
  Formula formula;
  ComputeType compute;
  std::vector<DType> operands;
  KernelShape shape;
};

// The source of a program with these kernels, which have names of their own.
std::string kernels_source(std::span<const FormulaKernel> kernels);
// That of one, which profilers know by kFormulaKernel.
std::string kernel_source(const Formula& formula, ComputeType compute, std::span<const DType> operands,
                          KernelShape shape);

}  // namespace headrace
