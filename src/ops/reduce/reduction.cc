#include "ops/reduce/reduction.h"

namespace headrace {
namespace {

Formula build(const FormulaFn& function, bool with_count) {
  if (!function) return {1, 0, {input(0)}};
  std::vector<Expr> arguments;
  const size_t inputs = with_count ? 1 : function.arity();
  for (size_t i = 0; i < inputs; ++i) arguments.push_back(input(static_cast<int>(i)));
  if (with_count) arguments.push_back(parameter(0));
  return {static_cast<int>(inputs), with_count ? 1 : 0, function(arguments)};
}

const Program& compiled(const Formula& formula, ComputeType type, std::once_flag* once,
                        std::unique_ptr<const Program>* programs) {
  const auto index = static_cast<size_t>(type);
  std::call_once(once[index], [&] { programs[index] = std::make_unique<const Program>(formula, type); });
  return *programs[index];
}

}  // namespace

Reduction::Reduction(Combine combine, FormulaFn prologue, FormulaFn epilogue)
    : combine_(combine),
      has_prologue_(static_cast<bool>(prologue)),
      prologue_(build(prologue, false)),
      epilogue_(build(epilogue, static_cast<bool>(epilogue))) {}

Reduction::Reduction(Combine combine, Formula prologue, Formula epilogue)
    : combine_(combine), has_prologue_(true), prologue_(std::move(prologue)), epilogue_(std::move(epilogue)) {}

std::shared_ptr<const Reduction> Reduction::of(const Formula& elements, DType dtype) const {
  const Expr stored = round_to(elements.outputs[0], dtype);
  Formula prologue{elements.num_inputs, elements.num_parameters, {substitute(prologue_.outputs[0], {&stored, 1}, {})}};
  return std::shared_ptr<const Reduction>(new Reduction(combine_, std::move(prologue), epilogue_));
}

const Program& Reduction::prologue(ComputeType type) const {
  return compiled(prologue_, type, prologue_once_, prologues_);
}

const Program& Reduction::epilogue(ComputeType type) const {
  return compiled(epilogue_, type, epilogue_once_, epilogues_);
}

}  // namespace headrace
