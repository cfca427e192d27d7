#include "op/formula/source_cuda.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/check.h"
#include "op/formula/program.h"
#include "op/launch_cuda.h"

namespace headrace {
namespace {

// The bits that a program of the host computes with.
std::string literal(double value, ComputeType type) {
  const Program::Scalar scalar = Program::scalar_of(type, value);
  return item_size(type) == 4 ? fmt::format("std::bit_cast<Compute>({:#x}u)", static_cast<uint32_t>(scalar.int32))
                              : fmt::format("std::bit_cast<Compute>({:#x}ull)", scalar.uint64);
}

// The value of a node; `numbers` are those of its arguments.
std::string value_text(const Expr& expr, ComputeType type,
                       const std::unordered_map<const Expr::Node*, size_t>& numbers) {
  switch (expr.kind()) {
    case Expr::Kind::kInput:
      return fmt::format("values[{}]", expr.index());
    case Expr::Kind::kParameter:
      return fmt::format("parameters[{}]", expr.index());
    case Expr::Kind::kConstant:
      return literal(expr.value(), type);
    case Expr::Kind::kInstruction:
      break;
  }
  std::string arguments;
  for (int i = 0; i < 3; ++i)
    arguments += i < expr.arity() ? fmt::format(", v{}", numbers.at(expr.argument(i).node())) : ", Compute{}";
  return fmt::format("scalar::apply<static_cast<Opcode>({}), Compute>({})", static_cast<int>(expr.opcode()),
                     arguments.substr(2));
}

std::string run_function(const Formula& formula, ComputeType compute) {
  std::unordered_map<const Expr::Node*, size_t> numbers;
  std::string text = "  static void run(const Compute* parameters, Compute* values) {\n";
  for (const Expr& expr : topological_order(formula.outputs)) {
    text += fmt::format("    const Compute v{} = {};", numbers.size(), value_text(expr, compute, numbers));
    if (expr.kind() == Expr::Kind::kInstruction) text += fmt::format("  // {}", info(expr.opcode()).name);
    text += '\n';
    numbers.emplace(expr.node(), numbers.size());
  }
  for (size_t o = 0; o < formula.outputs.size(); ++o)
    text += fmt::format("    values[{}] = v{};\n", static_cast<size_t>(formula.num_inputs) + o,
                        numbers.at(formula.outputs[o].node()));
  return text + "  }\n";
}

}  // namespace

std::string compute_name(ComputeType type) {
  switch (type) {
    case ComputeType::kFloat32:
      return "float";
    case ComputeType::kFloat64:
      return "double";
    case ComputeType::kInt32:
      return "int32_t";
    case ComputeType::kInt64:
      return "int64_t";
    case ComputeType::kUint64:
      break;
  }
  return "uint64_t";
}

std::string formula_struct(const char* name, const Formula& formula, ComputeType compute,
                           std::span<const DType> operands) {
  check(operands.size() == static_cast<size_t>(formula.num_inputs) + formula.outputs.size(), ErrorKind::kValue,
        "formula_struct: the formula has {} inputs and {} outputs, but {} operands are given", formula.num_inputs,
        formula.outputs.size(), operands.size());
  std::string text = fmt::format("template <int k>\nstruct ElementOf{};\n", name);
  for (size_t k = 0; k < operands.size(); ++k)
    text += fmt::format("template <>\nstruct ElementOf{}<{}> {{\n  using Type = {};\n}};\n", name, k,
                        element_name(operands[k]));
  return text + fmt::format(R"(struct {0} {{
  using Compute = {1};
  static constexpr int kInputs = {2}, kOperands = {3};
  template <int k>
  using Element = typename ElementOf{0}<k>::Type;
{4}}};
)",
                            name, compute_name(compute), formula.num_inputs, operands.size(),
                            run_function(formula, compute));
}

void add_parameters(KernelArguments& arguments, ComputeType compute, std::span<const double> parameters) {
  constexpr double kNone[] = {0};
  for (const double parameter : parameters.empty() ? std::span<const double>(kNone) : parameters) {
    const Program::Scalar scalar = Program::scalar_of(compute, parameter);
    arguments.add_bytes(&scalar, item_size(compute), item_size(compute));
  }
}

std::string kernels_source(std::span<const FormulaKernel> kernels) {
  std::string text = R"(#include "op/formula/special_functions.cc"
#include "op/formula/scalar.h"
#include "op/formula/device/pointwise.cuh"
)";
  for (const FormulaKernel& kernel : kernels) {
    const std::string formula = fmt::format("Formula_{}", kernel.name);
    const KernelShape shape = kernel.shape;
    const char* const index = shape.is_vast ? "uint64_t" : "uint32_t";
    const std::string call = shape.width > 0 ? fmt::format("run_packed<{}, {}>", formula, shape.width)
                                             : fmt::format("run_strided<{}, {}, {}>", formula, shape.ndim, index);
    text += fmt::format(R"(
namespace headrace {{
{0}}}  // namespace headrace

extern "C" __global__ void {1}(const headrace::device::Arguments<headrace::{2}::Compute, {3}, {4}, {5}> arguments) {{
  using namespace headrace;
  device::{6}(arguments);
}}
)",
                        formula_struct(formula.c_str(), kernel.formula, kernel.compute, kernel.operands), kernel.name,
                        formula, kernel.operands.size(), kernel.formula.num_parameters, shape.ndim, call);
  }
  return text;
}

std::string kernel_source(const Formula& formula, ComputeType compute, std::span<const DType> operands,
                          KernelShape shape) {
  const FormulaKernel kernel{.name = kernel_name(kFormulaKernel),
                             .formula = formula,
                             .compute = compute,
                             .operands = {operands.begin(), operands.end()},
                             .shape = shape};
  return kernels_source({&kernel, 1});
}

}  // namespace headrace
