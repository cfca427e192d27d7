#include "op/formula/scalar.h"

#include <array>
#include <utility>

namespace headrace {
namespace {

using Evaluate = double (*)(double, double, double) noexcept;

template <size_t... i>
constexpr std::array<Evaluate, kOpcodeCount> evaluators(std::index_sequence<i...>) {
  return {&scalar::apply<static_cast<Opcode>(i), double>...};
}

}  // namespace

double evaluate(Opcode opcode, double a, double b, double c) {
  static constexpr auto kEvaluators = evaluators(std::make_index_sequence<kOpcodeCount>());
  return kEvaluators[static_cast<size_t>(opcode)](a, b, c);
}

}  // namespace headrace
